// Operators that read a tensor of which only a part is real (Item::size). Each says how much of its
// result is real, and fills what must not count (a sum's padding with zeros, a maximum's with the
// least number). What has no such rule is refused: it would compute with padding.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/onnx_dtype.h"
#include "compiler/flow/specializer.h"
#include "ir/newest.h"
#include "ops/common/scalar.h"
#include "ops/facts.h"

namespace poprt::compiler {

using ir::Node;
using ir::Value;

namespace {

// Inputs that say what shape a result has: they are constants, computed from bounds.
bool decides_shape(const Node& n, size_t input) {
  return ops::in_mask(ops::facts_of(n).shape_inputs, input);
}

// The scalar in each place of a vector that is put together of constants and such; null: constant.
// Nothing when it is made in another way.
std::optional<std::vector<Value*>> places_of(Value* v) {
  const int64_t count = element_count(v->shape());
  if (v->is_constant()) return std::vector<Value*>(static_cast<size_t>(count), nullptr);
  const Node* n = v->producer();
  if (n && n->is("Concat")) {
    std::vector<Value*> places;
    for (Value* part : n->inputs()) {
      const auto of = places_of(part);
      if (!of) return std::nullopt;
      places.insert(places.end(), of->begin(), of->end());
    }
    return places;
  }
  if (count == 1) return std::vector<Value*>{v};
  return std::nullopt;
}

int64_t onnx_type(DType t) { return onnx_from_dtype(t).value(); }

int64_t before(const Shape& s, size_t axis) {
  return std::accumulate(s.begin(), s.begin() + static_cast<ptrdiff_t>(axis), int64_t{1},
                         std::multiplies<>());
}

Tensor extreme(DType t, bool high) {
  if (is_float(t))
    return ops::scalar_tensor(t, high ? std::numeric_limits<double>::infinity()
                                      : -std::numeric_limits<double>::infinity());
  if (t == DType::s64)
    return Tensor::scalar(high ? std::numeric_limits<int64_t>::max()
                               : std::numeric_limits<int64_t>::min());
  if (t == DType::u64) return Tensor::scalar(high ? std::numeric_limits<uint64_t>::max() : 0);
  const bool is_signed = t == DType::s8 || t == DType::s16 || t == DType::s32;
  const auto bits = static_cast<int>(dtype_bits(t)) - (is_signed ? 1 : 0);
  const double top = t == DType::boolean ? 1 : std::ldexp(1.0, bits) - 1;
  return ops::scalar_tensor(t, high ? top : is_signed ? -top - 1 : 0);
}

}  // namespace

bool Specializer::has_sizes(const Node& n, const Items& in) {
  for (size_t i = 0; i < in.size(); i++)
    if (in[i].size || (in[i].actual && decides_shape(n, i))) return true;
  return false;
}

bool Specializer::reads_actual(const Node& n, const Items& in) {
  for (size_t i = 0; i < in.size(); i++)
    if (in[i].actual && !decides_shape(n, i)) return true;
  return false;
}

Item Specializer::settled(const Item& item) { return item.actual ? Item::of(item.actual) : item; }

Specializer::Items Specializer::settled(Items items) {
  for (Item& item : items) item = settled(item);
  return items;
}

Value* Specializer::newest(const std::string& op, std::initializer_list<Value*> inputs,
                           Attributes attributes) {
  return make1(op, inputs, attributes, std::string(ir::kNewestDomain));
}

Value* Specializer::places(int64_t count) {
  Tensor t = Tensor::zeros(DType::s64, {count});
  int64_t next = 0;
  for (int64_t& x : t.mutable_values<int64_t>()) x = next++;
  return constant(t);
}

// Its tensor with another filling behind the real part.
Value* Specializer::filled(const Item& item, const Tensor& filling) {
  Shape along(item.value->shape().size(), 1);
  along[item.axis] = item.value->shape()[item.axis];
  Value* real = newest("Less", {reshape(places(along[item.axis]), along), item.size});
  return newest("Where", {real, item.value, constant(filling)});
}

Value* Specializer::zero_filled(const Item& item) {
  return filled(item, ops::scalar_tensor(item.value->dtype(), 0));
}

void Specializer::refuse_size(const Node& n, const Item& item) const {
  std::string_view name = item.value->name();
  for (const Value* v : n.inputs())
    if (v && item_of(v).size == item.size) name = v->name();
  fail_at(
      n, ErrorCode::unimplemented,
      "the size of '{}' along axis {} depends on data (at most {}), and there is no rule for it "
      "in this operator; make what it depends on constant, or end the model before it",
      name, item.axis, item.value->shape()[item.axis]);
}

std::vector<int64_t> Specializer::constant_ints(const Node& n, const Items& in, size_t i) const {
  if (!in[i].value || !in[i].value->is_constant())
    fail_at(n, ErrorCode::unimplemented, "input {} must be constant", i);
  return in[i].value->constant().to_int64s();
}

std::vector<int64_t> Specializer::axes_of(const Node& n, const Items& in, size_t input,
                                          size_t rank) const {
  const bool given = in.size() > input && in[input].kind == Item::Kind::tensor;
  std::vector<int64_t> axes = given ? constant_ints(n, in, input) : n.ints_attr("axes");
  for (int64_t& a : axes) a = normalize_axis(a, static_cast<int64_t>(rank));
  return axes;
}

// Reduce*, ArgMax, ArgMin: input 0 is sized.
Specializer::Followed Specializer::follow_reduction(const Node& n, Items& in) {
  const Item x = in[0];
  const Shape shape = x.value->shape();
  const bool arg = n.op_type.starts_with("Arg");
  std::vector<int64_t> axes =
      arg ? std::vector{normalize_axis(n.int_attr("axis", 0), static_cast<int64_t>(shape.size()))}
          : axes_of(n, in, 1, shape.size());
  if (axes.empty() && n.int_attr("noop_with_empty_axes", 0) != 0) return {x.size, x.axis};
  if (axes.empty())
    for (size_t d = 0; d < shape.size(); d++) axes.push_back(static_cast<int64_t>(d));
  const auto at = static_cast<int64_t>(x.axis);
  if (std::find(axes.begin(), axes.end(), at) == axes.end()) {
    size_t axis = x.axis;
    if (n.int_attr("keepdims", 1) == 0)
      for (const int64_t a : axes) axis -= a < at;
    return {x.size, axis};
  }
  const DType t = x.value->dtype();
  const std::string_view op = n.op_type;
  if (op == "ReduceMax" || op == "ArgMax") {
    in[0].value = filled(x, extreme(t, false));
  } else if (op == "ReduceMin" || op == "ArgMin") {
    in[0].value = filled(x, extreme(t, true));
  } else if (op == "ReduceLogSumExp") {
    in[0].value = filled(x, extreme(t, false));
  } else if (op == "ReduceProd") {
    in[0].value = filled(x, ops::scalar_tensor(t, 1));
  } else {
    in[0].value = zero_filled(x);
    if (op == "ReduceMean") {
      if (!is_float(t)) refuse_size(n, x);
      const double bound = static_cast<double>(shape[x.axis]);
      return {.after = [this, t, bound, size = x.size](Value* mean) {
        Value* scale = newest("Div", {constant(ops::scalar_tensor(t, bound)),
                                      newest("Cast", {size}, {{"to", onnx_type(t)}})});
        return newest("Mul", {mean, scale});
      }};
    }
  }
  return {};
}

// Where axis `axis` of x went, and how many of it are real; by flat order.
Specializer::Followed Specializer::follow_reshape(const Node& n, const Item& x, const Shape& to,
                                                  std::optional<size_t> wanted) {
  const Shape& from = x.value->shape();
  const int64_t outer = before(from, x.axis), bound = from[x.axis];
  const int64_t inner = bound == 0 ? 0 : element_count(from) / outer / bound;
  for (size_t k = 0; k < to.size(); k++) {
    if (wanted && k != *wanted) continue;
    if (before(to, k) == outer && to[k] == bound) return {x.size, k};
  }
  // Everything in front has one element: the real part is the first in memory.
  for (size_t k = 0; k < to.size() && outer == 1; k++) {
    if (before(to, k) != 1) break;
    if (wanted ? k != *wanted : to[k] == 1) continue;
    const int64_t rest = to[k] == 0 ? 0 : element_count(to) / to[k];
    if (rest > 0 && inner % rest == 0) return {make1("Mul", {x.size, integer(inner / rest)}), k};
    if (rest > 0 && inner > 0 && rest % inner == 0)
      return {make1("Div", {x.size, integer(rest / inner)}), k};
  }
  refuse_size(n, x);
}

Specializer::Followed Specializer::follow_slice(const Node& n, const Items& in) {
  const Item& x = in[0];
  const auto rank = static_cast<int64_t>(x.value->shape().size());
  const bool attributes = n.opset() < 10;
  const auto list = [&](size_t i, std::string_view key) {
    if (attributes) return n.ints_attr(key);
    return in.size() > i && in[i].value ? constant_ints(n, in, i) : std::vector<int64_t>();
  };
  const std::vector<int64_t> starts = list(1, "starts"), ends = list(2, "ends");
  std::vector<int64_t> axes = list(3, "axes"), steps = list(4, "steps");
  if (axes.empty())
    for (size_t d = 0; d < starts.size(); d++) axes.push_back(static_cast<int64_t>(d));
  steps.resize(axes.size(), 1);
  // Ends that are sizes themselves.
  std::vector<Value*> dynamic(ends.size(), nullptr);
  for (const size_t i : {size_t{1}, size_t{3}, size_t{4}})
    if (i < in.size() && in[i].actual) refuse_size(n, x.size ? x : in[i]);
  if (in.size() > 2 && in[2].actual) {
    const auto places = places_of(in[2].actual);
    if (!places)
      fail_at(n, ErrorCode::unimplemented, "it is not known which of its ends depend on data");
    dynamic = *places;
  }
  Followed out{x.size, x.axis};
  for (size_t i = 0; i < axes.size() && i < starts.size() && i < ends.size(); i++) {
    const auto axis = static_cast<size_t>(normalize_axis(axes[i], rank));
    const bool sized = x.size && axis == x.axis;
    if (!sized && !dynamic[i]) continue;
    if (x.size && !sized) refuse_size(n, x);
    const int64_t bound = x.value->shape()[axis];
    if (steps[i] != 1 || starts[i] < 0 || ends[i] < 0 || (out.size && !sized)) {
      if (!x.size) fail_at(n, ErrorCode::unimplemented, "an end that depends on data with a step");
      refuse_size(n, x);
    }
    Value* end = dynamic[i]
                     ? make1("Cast", {reshape(dynamic[i], {})}, {{"to", onnx_type(DType::s64)}})
                     : integer(std::min(ends[i], bound));
    if (sized) end = newest("Min", {end, x.size});
    Value* real =
        newest("Max", {newest("Sub", {end, integer(std::min(starts[i], bound))}), integer(0)});
    out = {real, axis};
  }
  return out;
}

// Real parts one behind the other.
Specializer::Followed Specializer::follow_concat(const Node& n, const Items& in) {
  const auto rank = static_cast<int64_t>(in[0].value->shape().size());
  const auto axis = static_cast<size_t>(normalize_axis(n.int_attr("axis", 1), rank));
  Followed along;
  for (const Item& item : in) {
    if (!item.size || item.axis == axis) continue;
    if (along.size && along.axis != item.axis) refuse_size(n, item);
    along = {item.size, item.axis};
  }
  if (along.size) {
    for (const Item& item : in)
      if (item.size && item.axis == axis) refuse_size(n, item);
    return along;
  }
  const auto bound = [&](const Value* v) { return v->shape()[axis]; };
  const std::pair<const std::string, ir::Attribute> at{"axis", static_cast<int64_t>(axis)};
  Value* all = in[0].value;
  Value* real = in[0].size;  // null: all of it
  for (size_t i = 1; i < in.size(); i++) {
    const int64_t room = bound(all), total = room + bound(in[i].value);
    all = make1("Concat", {all, in[i].value}, {at});
    if (real && total > room) {
      Value* place = places(total);
      Value* moved = newest("Min", {newest("Add", {place, newest("Sub", {integer(room), real})}),
                                    integer(total - 1)});
      all = make1("Gather", {all, newest("Where", {newest("Less", {place, real}), place, moved})},
                  {at});
    }
    if (real || in[i].size)
      real = newest("Add", {real ? real : integer(room),
                            in[i].size ? in[i].size : integer(bound(in[i].value))});
  }
  return {.size = real, .axis = axis, .whole = all};
}

// Rows of indices that are not real do nothing.
Specializer::Followed Specializer::follow_scatter(const Node& n, Items& in) {
  const Item at = in[1];
  const std::string how = n.string_attr("reduction", "none");
  if (in[0].size || !at.size || at.axis != 0 || at.value->shape().size() != 2 ||
      (how != "none" && how != "add"))
    refuse_size(n, in[0].size ? in[0] : at.size ? at : in[2]);
  const int64_t bound = at.value->shape()[0];
  if (bound == 0) return {};
  // They name the first row's place instead ...
  Value* place = places(bound);
  Value* row = newest("Where", {newest("Less", {place, at.size}), place, integer(0)});
  in[1].value = slice_at(at.value, row, 0);
  Item updates = in[2];
  updates.sized(at.size, 0);
  if (how == "add") {  // ... and add nothing
    in[2].value = zero_filled(updates);
    return {};
  }
  in[2].value = slice_at(updates.value, row, 0);  // ... with its value
  Value* data = in[0].value;
  return {.after = [this, data, size = at.size](Value* y) {
    return newest("Where", {newest("Greater", {size, integer(0)}), y, data});
  }};
}

Specializer::Followed Specializer::follow_matmul(const Node& n, Items& in) {
  const bool gemm = n.op_type == "Gemm";
  const size_t ra = in[0].value->shape().size(), rb = in[1].value->shape().size();
  const bool flip_a = gemm && n.int_attr("transA", 0) != 0;
  const bool flip_b = gemm && n.int_attr("transB", 0) != 0;
  const size_t ka = flip_a ? 0 : ra - 1;
  const size_t kb = rb == 1 ? 0 : flip_b ? rb - 1 : rb - 2;
  const size_t rank = std::max(ra, rb);
  Followed out;
  const auto set = [&](Value* size, size_t axis) {
    if (out.size && out.axis != axis) refuse_size(n, in[0]);
    out = {size, axis};
  };
  const Item a = in[0], b = in[1];
  if ((a.size && a.axis == ka) || (b.size && b.axis == kb)) {
    if (a.size && a.axis == ka) in[0].value = zero_filled(a);
    if (b.size && b.axis == kb) in[1].value = zero_filled(b);
    // Nothing infinite may meet the zeros.
    if (!b.size) {
      Item other = b;
      other.sized(a.size, kb);
      if (is_float(b.value->dtype()) && !b.value->is_constant()) in[1].value = zero_filled(other);
    }
  }
  if (a.size && a.axis != ka) {
    if (gemm)
      set(a.size, 0);
    else
      set(a.size, a.axis + rank - ra - (rb == 1 && ra == 1 ? 1 : 0));
  }
  if (b.size && b.axis != kb) {
    if (gemm) {
      set(b.size, 1);
    } else {
      const bool column = b.axis == rb - 1;
      set(b.size, column ? rank - 1 - (ra == 1 ? 1 : 0) : b.axis + rank - rb);
    }
  }
  if (gemm && in.size() > 2 && in[2].size)
    set(in[2].size, in[2].axis + 2 - in[2].value->shape().size());
  return out;
}

Specializer::Followed Specializer::follow(const Node& n, Items& in) {
  if (!is_standard(n) || in.empty()) {
    for (const Item& item : in)
      if (item.size) refuse_size(n, item);
    return {};
  }
  const ops::Facts& facts = ops::facts_of(n);
  const std::string_view op = n.op_type;
  const auto rank_of = [&](size_t i) { return in[i].value->shape().size(); };
  const auto unknown_shape = [&](const Item& item) {
    fail_at(n, ErrorCode::unimplemented,
            "'{}' is a shape that depends on data (at most {}), in a way that has no rule",
            item.value->name(), shape_string(item.value->constant().to_int64s()));
  };

  // Shapes that are sizes themselves.
  for (size_t i = 0; i < in.size(); i++) {
    if (!in[i].actual || !decides_shape(n, i) || op == "Slice") continue;
    if (op == "Range") {
      const auto is = [&](size_t k, int64_t v) {
        return !in[k].actual && in[k].value->is_constant() &&
               in[k].value->constant().to_int64s()[0] == v;
      };
      if (i != 1 || !is(0, 0) || !is(2, 1)) unknown_shape(in[i]);
      return {make1("Cast", {reshape(in[1].actual, {})}, {{"to", onnx_type(DType::s64)}}), 0};
    }
    if (op == "TopK") {
      Followed f = follow_top(n, in);
      return {make1("Cast", {reshape(in[1].actual, {})}, {{"to", onnx_type(DType::s64)}}), f.axis};
    }
    const auto places = places_of(in[i].actual);
    size_t dynamic = 0, count = 0;
    for (size_t k = 0; places && k < places->size(); k++)
      if ((*places)[k]) dynamic = k, count++;
    if (!places || count > 1) unknown_shape(in[i]);
    if (count == 0) continue;
    Value* size = make1("Cast", {reshape((*places)[dynamic], {})}, {{"to", onnx_type(DType::s64)}});
    if (op == "ConstantOfShape") return {size, dynamic};
    if (op == "Expand") {
      const std::vector<int64_t> to = constant_ints(n, in, 1);
      const size_t rank = std::max(to.size(), rank_of(0));
      const size_t axis = dynamic + rank - to.size();
      if (in[0].size && in[0].axis + rank - rank_of(0) != axis) refuse_size(n, in[0]);
      return {size, axis};
    }
    if (op == "Reshape") {
      if (!in[0].size) unknown_shape(in[i]);
      continue;  // below
    }
    unknown_shape(in[i]);
  }

  if (facts.per_element) {
    Followed out;
    size_t rank = 0;
    for (const Item& item : in)
      if (item.kind == Item::Kind::tensor && item.value->type.has_shape)
        rank = std::max(rank, item.value->shape().size());
    for (size_t i = 0; i < in.size(); i++) {
      if (!in[i].size || (op == "CastLike" && i == 1)) continue;
      const size_t axis = in[i].axis + rank - rank_of(i);
      if (out.size && out.axis != axis) refuse_size(n, in[i]);
      out = {in[i].size, axis};
    }
    // One real element at most, which something longer would repeat.
    for (const Item& item : in)
      if (item.size && item.value->shape()[item.axis] == 1)
        for (const Item& other : in) {
          if (other.kind != Item::Kind::tensor || !other.value->type.is_static()) continue;
          const Shape& shape = other.value->shape();
          const size_t behind = rank - out.axis;
          if (shape.size() >= behind && shape[shape.size() - behind] > 1) refuse_size(n, item);
        }
    return out;
  }
  if (op.starts_with("Reduce") || op == "ArgMax" || op == "ArgMin")
    return in[0].size ? follow_reduction(n, in) : Followed{};
  if (op == "Slice") return follow_slice(n, in);
  if (op == "Concat") return follow_concat(n, in);
  if (op == "ScatterND") return follow_scatter(n, in);
  if (op == "MatMul" || op == "Gemm") return follow_matmul(n, in);
  if (op == "TopK") return follow_top(n, in);
  if (op == "NonMaxSuppression") {
    // Boxes that are not real have the least score, and no box with that is taken.
    if (in.size() < 2 || !in[1].size || in[1].axis != 2 || (in[0].size && in[0].axis != 1))
      refuse_size(n, in[0].size ? in[0] : in[1]);
    in[1].value = filled(in[1], extreme(in[1].value->dtype(), false));
    in.resize(5);
    if (in[4].kind == Item::Kind::none)
      in[4] = Item::of(constant(Tensor::of<float>({1}, {std::numeric_limits<float>::lowest()})));
    return {};
  }

  for (size_t i = 1; i < in.size(); i++)
    if (in[i].size && op != "Gather" && op != "GatherElements" && op != "GatherND" &&
        op != "Compress" && op != "RoiAlign" && op != "GridSample")
      refuse_size(n, in[i]);
  const Item x = in[0];
  const Shape shape = x.value->shape();
  const auto rank = static_cast<int64_t>(shape.size());
  const auto axis_attr = [&](int64_t fallback) {
    return static_cast<size_t>(normalize_axis(n.int_attr("axis", fallback), rank));
  };
  const auto same = [&] { return Followed{x.size, x.axis}; };

  if (op == "Transpose") {
    const std::vector<int64_t> perm = n.ints_attr("perm");
    for (size_t d = 0; d < shape.size(); d++)
      if ((perm.empty() ? shape.size() - 1 - d : static_cast<size_t>(perm[d])) == x.axis)
        return {x.size, d};
  }
  if (op == "Squeeze") {
    std::vector<int64_t> axes = axes_of(n, in, 1, shape.size());
    if (axes.empty())
      for (size_t d = 0; d < shape.size(); d++)
        if (shape[d] == 1) axes.push_back(static_cast<int64_t>(d));
    size_t axis = x.axis;
    for (const int64_t a : axes) {
      if (a == static_cast<int64_t>(x.axis)) return {};  // one element, and it must be real
      axis -= a < static_cast<int64_t>(x.axis);
    }
    return {x.size, axis};
  }
  if (op == "Unsqueeze") {
    const bool given = in.size() > 1 && in[1].kind == Item::Kind::tensor;
    std::vector<int64_t> axes = given ? constant_ints(n, in, 1) : n.ints_attr("axes");
    for (int64_t& a : axes) a = normalize_axis(a, rank + static_cast<int64_t>(axes.size()));
    std::sort(axes.begin(), axes.end());
    size_t axis = x.axis;
    for (const int64_t a : axes) axis += a <= static_cast<int64_t>(axis);
    return {x.size, axis};
  }
  if (op == "Reshape") {
    std::vector<int64_t> to = constant_ints(n, in, 1);
    std::optional<size_t> wanted;
    if (in[1].actual)
      if (const auto places = places_of(in[1].actual))
        for (size_t k = 0; k < places->size(); k++)
          if ((*places)[k]) wanted = k;
    int64_t known = 1;
    size_t open = to.size();
    for (size_t k = 0; k < to.size(); k++) {
      if (to[k] == 0 && n.int_attr("allowzero", 0) == 0 && k < shape.size()) to[k] = shape[k];
      if (to[k] == -1)
        open = k;
      else
        known *= to[k];
    }
    if (open < to.size()) to[open] = known == 0 ? 0 : element_count(shape) / known;
    return follow_reshape(n, x, to, wanted);
  }
  if (op == "Flatten") {
    const auto given = n.int_attr("axis", 1);
    const auto axis = static_cast<size_t>(given < 0 ? given + rank : given);
    const int64_t rows = before(shape, axis);
    return follow_reshape(n, x, {rows, rows == 0 ? 0 : element_count(shape) / rows}, {});
  }
  if (op == "Gather" || op == "GatherElements") {
    const size_t axis = axis_attr(0);
    const Item at = in[1];
    // A place from the end is one of the real part.
    if (x.size && x.axis == axis) {
      const bool plain = at.value->is_constant() && [&] {
        const auto v = at.value->constant().to_int64s();
        return std::all_of(v.begin(), v.end(), [](int64_t k) { return k >= 0; });
      }();
      if (!plain) {
        Value* place = make1("Cast", {at.value}, {{"to", onnx_type(DType::s64)}});
        in[1].value = newest(
            "Where", {newest("Less", {place, integer(0)}), newest("Add", {place, x.size}), place});
      }
    }
    if (op == "GatherElements") {
      if (at.size) return {at.size, at.axis};
      // Fewer places than the bound name rows that are real.
      const bool all = at.value->shape()[x.axis] == shape[x.axis];
      return x.axis != axis && all ? same() : Followed{};
    }
    if (at.size && x.size && x.axis != axis) refuse_size(n, x);
    if (at.size) return {at.size, axis + at.axis};
    if (x.axis == axis) return {};
    return {x.size, x.axis < axis ? x.axis : x.axis + rank_of(1) - 1};
  }
  if (op == "GatherND" && !x.size && n.int_attr("batch_dims", 0) == 0 &&
      in[1].axis + 1 < rank_of(1))
    return {in[1].size, in[1].axis};
  if (op == "Compress") {
    const bool flat = !n.find_attr("axis");
    const size_t axis = flat ? 0 : axis_attr(0);
    if (x.size && (flat ? x.axis != 0 || rank != 1 : x.axis != axis)) refuse_size(n, x);
    if (x.size && !in[1].size) in[1].sized(x.size, 0);
    in[1].value = zero_filled(in[1]);
    return {};
  }
  if (op == "NonZero") {
    in[0].value = zero_filled(x);
    return {};
  }
  if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") {
    const size_t axis = axis_attr(n.opset() < 13 ? 1 : -1);
    if (x.axis == axis || (n.opset() < 13 && x.axis > axis))
      in[0].value = filled(x, extreme(x.value->dtype(), false));
    return same();
  }
  if (op == "CumSum" || op == "CumProd") {
    if (n.int_attr("reverse", 0) != 0)
      in[0].value = filled(x, ops::scalar_tensor(x.value->dtype(), op == "CumProd" ? 1 : 0));
    return same();
  }
  if (op == "LayerNormalization" || op == "RMSNormalization" || op == "LpNormalization") {
    const size_t axis = axis_attr(-1);
    if (op == "LpNormalization" ? x.axis != axis : x.axis < axis) return same();
  }
  if (op == "Pad" && x.size) {
    std::vector<int64_t> pads = in.size() > 1 ? constant_ints(n, in, 1) : n.ints_attr("pads");
    std::vector<int64_t> axes = axes_of(n, in, 3, shape.size());
    if (in.size() < 4 || in[3].kind == Item::Kind::none) {
      axes.clear();
      for (int64_t d = 0; d < rank; d++) axes.push_back(d);
    }
    bool free = true;
    for (size_t k = 0; k < axes.size() && 2 * axes.size() == pads.size(); k++)
      if (axes[k] == static_cast<int64_t>(x.axis))
        free = pads[k] == 0 && pads[k + axes.size()] == 0;
    if (free) return same();
  }
  if (op == "Tile" && in.size() == 2) {
    const auto repeats = constant_ints(n, in, 1);
    if (repeats.size() == shape.size() && repeats[x.axis] == 1) return same();
  }
  if (op == "Expand") {
    const std::vector<int64_t> to = constant_ints(n, in, 1);
    const size_t out = std::max(to.size(), shape.size()), axis = x.axis + out - shape.size();
    if (shape[x.axis] != 1 || axis + to.size() < out || to[axis + to.size() - out] == 1)
      return {x.size, axis};
  }
  if (op == "Split" && axis_attr(0) != x.axis) return same();
  if (op == "OneHot") {
    const int64_t at = normalize_axis(n.int_attr("axis", -1), rank + 1);
    return {x.size, x.axis + (at <= static_cast<int64_t>(x.axis) ? 1 : 0)};
  }
  if (op == "RoiAlign" && !x.size && in[1].axis == 0) return {in[1].size, 0};
  if (op == "GridSample" && (!x.size || x.axis == 0) && (!in[1].size || in[1].axis == 0))
    return {x.size ? x.size : in[1].size, 0};
  if (facts.per_sample && x.axis == 0 && !n.int_attr("training_mode", 0)) return same();
  for (const Item& item : in)
    if (item.size) refuse_size(n, item);
  return {};
}

Specializer::Followed Specializer::follow_top(const Node& n, Items& in) {
  const Item x = in[0];
  const auto axis = static_cast<size_t>(
      normalize_axis(n.int_attr("axis", -1), static_cast<int64_t>(x.value->shape().size())));
  if (!x.size) return {nullptr, axis};
  if (x.axis != axis) {
    if (in.size() > 1 && in[1].actual) refuse_size(n, x);
    return {x.size, x.axis};
  }
  in[0].value = filled(x, extreme(x.value->dtype(), n.int_attr("largest", 1) == 0));
  return {nullptr, axis};
}

// Shape and Size of a sized tensor: constants where shapes are decided, what they really are where
// they are numbers.
void Specializer::give_actual(const Node& n, const Item& x) {
  const Shape& bound = x.value->shape();
  Item& out = items_[n.output()];
  if (n.op_type == "Size") {
    out.actual = newest(
        "Mul", {x.size, integer(bound[x.axis] == 0 ? 0 : element_count(bound) / bound[x.axis])});
    return;
  }
  const auto rank = static_cast<int64_t>(bound.size());
  const auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const auto from = static_cast<size_t>(clamp(n.int_attr("start", 0)));
  const auto to = static_cast<size_t>(clamp(n.int_attr("end", rank)));
  if (x.axis < from || x.axis >= to) return;
  std::vector<Value*> dims;
  for (size_t d = from; d < to; d++)
    dims.push_back(d == x.axis ? reshape(x.size, {1}) : integers(std::array{bound[d]}));
  out.actual = dims.size() == 1 ? dims[0] : make("Concat", "", dims, {{"axis", int64_t{0}}})[0];
}

}  // namespace poprt::compiler
