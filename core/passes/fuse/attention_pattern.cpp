// Decides which nodes form an attention, and replaces them by poprt.Attention: softmax(scale * q
// k^T + mask) v in the forms that exporters write.
//
// q, k and v have the shape [B, heads, length, head_size]. They are computed through Reshape and
// Transpose from one or several projections; a Split of one projection becomes an offset. The
// following forms are recognised:
//   scores: MatMul(q, k^T), scaled by constants before or after. k is transposed together with the
//   heads or separately.
//   mask: scores + mask, Where(keep, scores, constant), Where(drop, constant, scores), such a Where
//   plus a mask, or none.
//   result: Softmax over the last axis, MatMul with v, Transpose back, Reshape to [B, length,
//   width].
//
// OpDef::bound excludes padded keys by three Where nodes, which are all fused: Where(real, scores,
// -inf) before Softmax, Where(real, weights, 0) after it, and Where(real, v, 0). The first one
// becomes part of the mask. The second one is dropped, because the weight of a score of -inf is 0
// already. The third one is applied to the rows of v and, if there is another mask that is not
// causal, to the rows of k, because padding may be NaN.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "ir/newest.h"
#include "ops/axes.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::attention_pattern_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The source of q, k or v: columns [offset, offset + heads * head_size) of the rows of x. The
// rows are [batch, length] in row-major order.
struct Heads {
  Value* x = nullptr;
  int64_t offset = 0, batch = 0, length = 0, heads = 0, head_size = 0;
  double scale = 1;
};

bool has_perm(const Node& n, std::initializer_list<int64_t> perm) {
  return n.is("Transpose") && n.ints_attr("perm") == std::vector<int64_t>(perm);
}

// Follows Mul and Div by a constant upwards and multiplies `scale` by the constants.
Value* without_scale(Value* v, double& scale) {
  while (Node* n = v->producer()) {
    if (n->is("Mul")) {
      const auto right = const_scalar(n->input(1)), left = const_scalar(n->input(0));
      if (!right && !left) break;
      scale *= right ? *right : *left;
      v = n->input(right ? 0 : 1);
    } else if (n->is("Div") && const_scalar(n->input(1)).value_or(0) != 0) {
      scale /= *const_scalar(n->input(1));
      v = n->input(0);
    } else {
      break;
    }
  }
  return v;
}

// The axis along which a Split divides its input, of which `part` is an output.
std::optional<size_t> cut_axis(const Node& split, const Value& part) {
  const auto output = std::ranges::find(split.outputs(), &part) - split.outputs().begin();
  return ops::first_changed(ops::axis_map(split), 0, static_cast<size_t>(output));
}

// If `v` is an output of a Split along the last axis, replaces it by the input of the Split and
// adds the columns before it to `offset`.
void through_split(Value*& v, int64_t& offset) {
  Node* split = producer_if(v, "Split");
  if (!split || !v->type.is_static()) return;
  if (cut_axis(*split, *v) != v->shape().size() - 1) return;
  int64_t columns = 0;
  for (const Value* part : split->outputs()) {
    if (part == v) break;
    if (!part->type.is_static()) return;
    columns += part->shape().back();
  }
  offset += columns;
  v = split->input(0);
}

// Finds the rows [B, S, width] or [B * S, width] that `v`, [B, S, heads, head_size], is a Reshape
// of.
std::optional<Heads> from_rows(Value* v, double scale) {
  v = without_scale(v, scale);
  const Node* reshape = producer_if(v, "Reshape");
  if (!reshape || !v->type.is_static() || v->shape().size() != 4) return std::nullopt;
  const Shape& s = v->shape();
  Heads h{without_scale(reshape->input(0), scale), 0, s[0], s[1], s[2], s[3], scale};
  if (!h.x->type.is_static() || h.x->shape().empty() ||
      h.x->shape().back() != h.heads * h.head_size)
    return std::nullopt;
  through_split(h.x, h.offset);
  return h;
}

// Handles a joint projection to q, k and v, from which `v` is cut after Reshape to [B, S, parts,
// heads, head_size] and Transpose to [parts, B, heads, S, head_size].
std::optional<Heads> from_stack(Value* v, double scale) {
  Value* stack = nullptr;
  int64_t part = 0;
  if (const Node* gather = producer_if(v, "Gather")) {
    const auto index = const_scalar(gather->input(1));
    if (!index || !gather->input(1)->shape().empty() ||
        ops::mixed_axes(ops::axis_map(*gather), 0) != std::vector<size_t>{0})
      return std::nullopt;
    stack = gather->input(0);
    part = static_cast<int64_t>(*index);
  } else {
    const Node* squeeze = producer_if(v, "Squeeze");
    if (!squeeze) squeeze = producer_if(v, "Reshape");
    const Node* split = squeeze ? producer_if(squeeze->input(0), "Split") : nullptr;
    if (!split || cut_axis(*split, *squeeze->input(0)) != size_t{0}) return std::nullopt;
    for (const Value* o : split->outputs()) {
      if (!o->type.is_static() || o->shape().size() != 5 || o->shape()[0] != 1 ||
          !std::equal(v->shape().begin(), v->shape().end(), o->shape().begin() + 1,
                      o->shape().end()))
        return std::nullopt;
      if (o == squeeze->input(0)) break;
      part++;
    }
    stack = split->input(0);
  }
  const Node* transpose = producer_if(stack, "Transpose");
  if (!transpose || !has_perm(*transpose, {2, 0, 3, 1, 4})) return std::nullopt;
  const Value* rows = transpose->input(0);
  const Node* reshape = producer_if(rows, "Reshape");
  if (!reshape || !rows->type.is_static()) return std::nullopt;
  const Shape& s = rows->shape();
  if (part < 0) part += s[2];
  Heads h{reshape->input(0), part * s[3] * s[4], s[0], s[1], s[3], s[4], scale};
  if (part < 0 || part >= s[2] || !h.x->type.is_static() || h.x->shape().empty() ||
      h.x->shape().back() != s[2] * s[3] * s[4])
    return std::nullopt;
  return h;
}

// Finds the source of `v`. `v` is [B, heads, S, head_size], or [B, heads, head_size, S] if
// `transposed`.
std::optional<Heads> heads_of(Value* v, bool transposed) {
  double scale = 1;
  v = without_scale(v, scale);
  if (!v->type.is_static() || v->shape().size() != 4 || !v->producer()) return std::nullopt;
  const Node& n = *v->producer();
  if (transposed) {
    if (has_perm(n, {0, 2, 3, 1})) return from_rows(n.input(0), scale);
    if (!has_perm(n, {0, 1, 3, 2})) return std::nullopt;
    auto h = heads_of(n.input(0), false);
    if (h) h->scale *= scale;
    return h;
  }
  if (has_perm(n, {0, 2, 1, 3})) return from_rows(n.input(0), scale);
  return from_stack(v, scale);
}

// The producer of `v` if it is this operator of ai.onnx, in the opset of the model or in the newest
// opset, which OpDef::bound uses.
const Node* onnx_producer_if(const Value* v, std::string_view op_type) {
  const Node* n = v->producer();
  return n && n->op_type == op_type && ir::is_onnx_domain(n->domain) ? n : nullptr;
}

// Where(real, x, number) with `real` true at the first places of one axis, as OpDef::bound writes
// it for the padding.
struct Padded {
  Value *real = nullptr, *x = nullptr;
};

// Whether `v` is Less(places, size), with the constant places 0, 1, 2 ... along `axis`.
bool is_beginning(const Value* v, size_t axis) {
  const Node* less = onnx_producer_if(v, "Less");
  if (!less || !v->type.is_static() || axis >= v->shape().size() || !less->input(0)->is_constant())
    return false;
  const Value *places = less->input(0), *size = less->input(1);
  if (!same_static_shape(places, v) || !is_integer(places->dtype()) || !size->type.is_static() ||
      element_count(size->shape()) != 1 || places->constant().count() != v->shape()[axis])
    return false;
  const std::vector<int64_t> numbers = places->constant().to_int64s();
  for (size_t i = 0; i < numbers.size(); i++)
    if (numbers[i] != static_cast<int64_t>(i)) return false;
  return true;
}

// Returns the Where that replaces padding of `v` (of rank 4) along the axis by `number`, or nothing
// if `v` is the result of another node.
std::optional<Padded> padded_along(Value* v, size_t axis, double number) {
  const Node* where = single_use(v) ? onnx_producer_if(v, "Where") : nullptr;
  if (!where || const_scalar(where->input(2)) != number || !same_static_shape(where->input(1), v) ||
      v->shape().size() != 4 || v->shape()[axis] == 0)
    return std::nullopt;
  Value* real = where->input(0);
  if (!is_beginning(real, axis) || real->shape().size() != 4 ||
      real->shape()[axis] != v->shape()[axis])
    return std::nullopt;
  return Padded{real, where->input(1)};
}

// Whether both are true at the same number of places.
bool same_beginning(const Value* a, const Value* b) {
  return a->producer()->input(1) == b->producer()->input(1);
}

struct Scores {
  Node* matmul = nullptr;
  double scale = 1;
  Value* mask = nullptr;
  bool inverted = false;   // whether a bool mask is true where scores are dropped
  double mask_value = 0;   // replaces the scores that a bool mask drops
  Value* added = nullptr;  // a second mask, which is added after a bool mask
  Value* real = nullptr;   // true for keys that are not padding
};

// Matches scale * MatMul if it has no other reader.
bool scaled_product(Value* v, Scores& out) {
  double scale = 1;
  while (single_use(v)) {
    Node* n = v->producer();
    if (!n) return false;
    if (n->is("MatMul")) {
      out.matmul = n;
      out.scale = scale;
      return true;
    }
    double step = 1;
    Value* before = v;
    if (n->is("Mul")) {
      const auto right = const_scalar(n->input(1)), left = const_scalar(n->input(0));
      if (!right && !left) return false;
      step = right ? *right : *left;
      before = n->input(right ? 0 : 1);
    } else if (n->is("Div") && const_scalar(n->input(1)).value_or(0) != 0) {
      step = 1 / *const_scalar(n->input(1));
      before = n->input(0);
    } else {
      return false;
    }
    scale *= step;
    v = before;
  }
  return false;
}

// Matches Where(keep, product, constant) and Where(drop, constant, product).
bool masked_product(Value* v, Scores& out) {
  if (!single_use(v)) return false;
  const Node* where = producer_if(v, "Where");
  for (size_t side = 1; where && side <= 2; side++) {
    const auto other = const_scalar(where->input(3 - side));
    if (!other || !same_static_shape(where->input(side), v) ||
        !scaled_product(where->input(side), out))
      continue;
    out.mask = where->input(0);
    out.inverted = side == 2;
    out.mask_value = *other;
    return true;
  }
  return false;
}

constexpr double kNone = -std::numeric_limits<double>::infinity();
// A number of at most this absorbs every f32 score of magnitude up to 3e22, half an ulp of the
// number: score + value = value.
constexpr double kAbsorbing = -1e30;

std::optional<Scores> scores_of(Value* v) {
  Scores s;
  if (scaled_product(v, s) || masked_product(v, s)) return s;
  if (!single_use(v)) return std::nullopt;
  const Node* add = producer_if(v, "Add");
  for (size_t side = 0; add && side < 2; side++) {
    Value *scores = add->input(side), *mask = add->input(1 - side);
    if (!same_static_shape(scores, v) || mask->dtype() != DType::f32) continue;
    if (scaled_product(scores, s)) {
      s.mask = mask;
      return s;
    }
    if (masked_product(scores, s)) {
      if (s.mask_value > kAbsorbing) return std::nullopt;
      s.added = mask;
      return s;
    }
  }
  return std::nullopt;
}

// Whether the mask broadcasts to [B, heads, S, T] without enlarging it.
bool fits_scores(const Value* mask, const Shape& scores) {
  if (!mask->type.is_static() || mask->shape().size() > scores.size()) return false;
  const size_t lead = scores.size() - mask->shape().size();
  for (size_t i = 0; i < mask->shape().size(); i++)
    if (mask->shape()[i] != 1 && mask->shape()[i] != scores[lead + i]) return false;
  return true;
}

// Whether a constant mask drops exactly the keys after the query. Dropped scores have the weight
// exp(value - largest score), which is 0 in f32 if the value is at most -1e4 and the largest score
// is above -9896. No trained model has smaller scores. The kernel then does not read the mask.
bool is_causal(const Scores& s, const Shape& scores) {
  constexpr double kDropped = -1e4;
  const int64_t size = scores[3];
  if (!s.mask || s.added || !s.mask->is_constant() || scores[2] != size) return false;
  const Shape& shape = s.mask->shape();
  if (shape.size() < 2 || shape[shape.size() - 1] != size || shape[shape.size() - 2] != size ||
      s.mask->constant().count() != size * size)
    return false;
  const bool is_bool = s.mask->dtype() == DType::boolean;
  if (is_bool && s.mask_value > kDropped) return false;
  const std::vector<double> values = s.mask->constant().to_doubles();
  for (int64_t row = 0; row < size; row++)
    for (int64_t column = 0; column < size; column++) {
      const double v = values[static_cast<size_t>(row * size + column)];
      const bool keep = is_bool ? (v != 0) != s.inverted : v == 0;
      const bool drop = is_bool ? !keep : v <= kDropped;
      if (column <= row ? !keep : !drop) return false;
    }
  return true;
}

// Returns x as [B, S, columns].
Value* as_rows(Node& at, const Heads& h) {
  const Shape wanted{h.batch, h.length, h.x->shape().back()};
  if (h.x->shape() == wanted) return h.x;
  // If x is [B * S, columns], it is often the Reshape of a value of the wanted form.
  if (const Node* reshape = producer_if(h.x, "Reshape");
      reshape && reshape->input(0)->type.is_static() && reshape->input(0)->shape() == wanted)
    return reshape->input(0);
  Value* shape = add_ints(at.graph(), at.output()->name() + "_rows", wanted);
  return insert_node(at, "Reshape", "", {h.x, shape})->output();
}

// Returns the rows with zeros in place of padding; `real` marks the keys along one axis.
Value* with_zeroed_padding(Node& at, Value* rows, Value* real) {
  Graph& g = at.graph();
  const std::string name = at.output()->name();
  Value* shape = add_ints(g, name + "_keys", std::array<int64_t, 3>{1, rows->shape()[1], 1});
  Value* keys = insert_node(at, "Reshape", "", {real, shape})->output();
  Value* zero = add_scalar(g, name + "_none", DType::f32, 0);
  return insert_node(at, "Where", "", {keys, rows, zero})->output();
}

// Returns the mask as the operator requires it: f32 to add, or bool that is true for kept scores.
Value* mask_input(Node& at, const Scores& s) {
  Graph& g = at.graph();
  const std::string name = at.output()->name() + "_mask";
  Value* mask = s.mask;
  if (s.real) {
    if (!mask) return s.real;
    if (mask->dtype() == DType::boolean) {
      Scores kept = s;
      kept.real = nullptr;
      if (!kept.added) kept.added = add_scalar(g, name + "_nothing", DType::f32, 0);
      mask = mask_input(at, kept);
    }
    Value* none = add_scalar(g, name + "_padding", DType::f32, kNone);
    return insert_node(at, "Where", "", {s.real, mask, none})->output();
  }
  if (s.added) {
    const float dropped = static_cast<float>(s.mask_value);
    Value* zero = add_scalar(g, name + "_zero", DType::f32, 0);
    Value* value = add_scalar(g, name + "_value", DType::f32, static_cast<double>(dropped));
    Node* where =
        insert_node(at, "Where", "", {mask, s.inverted ? value : zero, s.inverted ? zero : value});
    return insert_node(at, "Add", "", {where->output(), s.added})->output();
  }
  if (s.inverted && mask->is_constant()) {
    std::vector<double> keep = mask->constant().to_doubles();
    for (double& x : keep) x = x == 0;
    return g.add_constant(name, tensor_of(DType::boolean, mask->shape(), keep));
  }
  return s.inverted ? insert_node(at, "Not", "", {mask})->output() : mask;
}

// The scores and operands of a recognised attention.
struct Parts {
  Scores scores;
  Heads q, k, v;
  Value* real_values = nullptr;  // true for rows of v that are not padding; null: all
};

// Matches the scores `v`, [B, heads, S, T], whose last keys may be padding.
std::optional<Scores> padded_scores_of(Value* v) {
  const auto padded = padded_along(v, 3, kNone);
  auto scores = scores_of(padded ? padded->x : v);
  if (!scores || !padded) return scores;
  // With padding, mask_input() turns a bool mask into numbers that are added to the scores. In a
  // row whose keys are all dropped, this gives the weights of the model only if mask_value absorbs
  // the scores.
  if (scores->mask && scores->mask->dtype() == DType::boolean && !is_causal(*scores, v->shape()) &&
      scores->mask_value > kAbsorbing)
    return std::nullopt;
  scores->real = padded->real;
  return scores;
}

std::optional<Parts> parts_of(Node& weighted) {
  const auto weights = padded_along(weighted.input(0), 3, 0);
  const Node* softmax = sole_producer_of(weights ? weights->x : weighted.input(0), "Softmax");
  if (!softmax || !softmax->output()->type.is_static()) return std::nullopt;
  const Shape& shape = softmax->output()->shape();  // [B, heads, S, T]
  if (shape.size() != 4 || weighted.output()->shape().size() != 4) return std::nullopt;
  if (ops::mixed_axes(ops::axis_map(*softmax), 0) != std::vector<size_t>{3}) return std::nullopt;
  const auto scores = padded_scores_of(softmax->input(0));
  if (!scores || (scores->mask && !fits_scores(scores->mask, shape)) ||
      (scores->added && !fits_scores(scores->added, shape)))
    return std::nullopt;
  if (weights && (!scores->real || !same_beginning(weights->real, scores->real)))
    return std::nullopt;
  const auto values = padded_along(weighted.input(1), 2, 0);
  const auto q = heads_of(scores->matmul->input(0), false);
  const auto k = heads_of(scores->matmul->input(1), true);
  const auto v = heads_of(values ? values->x : weighted.input(1), false);
  if (!q || !k || !v || v->scale != 1) return std::nullopt;
  for (const Heads& h : {*q, *k, *v})
    if (h.batch != shape[0] || h.heads != shape[1] || h.head_size != q->head_size)
      return std::nullopt;
  if (q->length != shape[2] || k->length != shape[3] || v->length != shape[3]) return std::nullopt;
  return Parts{*scores, *q, *k, *v, values ? values->real : nullptr};
}

void fuse(Node& reshape, PassContext& context) {
  const Value* out = reshape.output();
  Node* transpose = sole_producer_of(reshape.input(0), "Transpose");
  if (!transpose || !has_perm(*transpose, {0, 2, 1, 3}) || !out->type.is_static() ||
      out->dtype() != DType::f32)
    return;
  Node* weighted = sole_producer_of(transpose->input(0), "MatMul");
  const auto parts = weighted ? parts_of(*weighted) : std::nullopt;
  if (!parts || !context.allow()) return;

  const auto& [scores, q, k, v, real_values] = *parts;
  const bool causal = is_causal(scores, {q.batch, q.heads, q.length, k.length});
  std::vector<Value*> inputs{as_rows(reshape, q), as_rows(reshape, k), as_rows(reshape, v)};
  if (scores.real && scores.mask && !causal)
    inputs[1] = with_zeroed_padding(reshape, inputs[1], scores.real);
  if (real_values) inputs[2] = with_zeroed_padding(reshape, inputs[2], real_values);
  if (causal && scores.real)
    inputs.push_back(scores.real);
  else if ((scores.mask || scores.real) && !causal)
    inputs.push_back(mask_input(reshape, scores));
  const double scale = scores.scale * q.scale * k.scale;
  const double mask_value = scores.real ? kNone : scores.mask_value;
  Node* attention = insert_node(reshape, "Attention", "poprt", inputs,
                                {{"heads", q.heads},
                                 {"head_size", q.head_size},
                                 {"scale", static_cast<float>(scale)},
                                 {"q_offset", q.offset},
                                 {"k_offset", k.offset},
                                 {"v_offset", v.offset},
                                 {"causal", static_cast<int64_t>(causal)},
                                 {"mask_value", static_cast<float>(mask_value)}});
  Value* result = attention->output();
  if (!same_static_shape(result, out)) {
    Value* wanted = add_ints(reshape.graph(), out->name() + "_shape", out->shape());
    result = insert_node(reshape, "Reshape", "", {result, wanted})->output();
  }
  replace_node(reshape, result);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("Reshape")) fuse(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "attention_pattern",
    .summary = "fuses softmax(q k^T) v into poprt.Attention",
    .condition =
        "q, k and v are projections after Reshape and Transpose; scores are "
        "scaled by constants; the mask, if any, broadcasts to [B, heads, q, k]; the last keys "
        "may be padding that is excluded",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::attention_pattern_pass
