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

bool decides_shape(const Node& n, size_t input) {
  return ops::in_mask(ops::facts_of(n).shape_inputs, input);
}

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
  Value*& made = places_[count];
  if (made) return made;
  Tensor t = Tensor::zeros(DType::s64, {count});
  int64_t next = 0;
  for (int64_t& x : t.mutable_values<int64_t>()) x = next++;
  return made = constant(t);
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

void Specializer::refuse_shape(const Node& n, const Item& item) const {
  fail_at(
      n, ErrorCode::unimplemented,
      "{} has more than one dimension that depends on data, or one with no bound that is known; "
      "make what it depends on constant, or end the model before it",
      item.value ? fmt::format("'{}'", item.value->name()) : "its result");
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

// Real parts one behind the other.
Specializer::Followed Specializer::follow_concat(const Node& n, Items& in) {
  const auto rank = static_cast<int64_t>(in[0].value->shape().size());
  const auto axis = static_cast<size_t>(normalize_axis(n.int_attr("axis", 1), rank));
  Followed along;
  for (const Item& item : in) {
    if (!item.size || item.axis == axis) continue;
    if (along.size && along.axis != item.axis) refuse_size(n, item);
    along = {item.size, item.axis};
  }
  if (along.size) {
    // Nothing is repeated: lengths are equal, and what is static is all real.
    int64_t bound = std::numeric_limits<int64_t>::max();
    for (const Item& item : in) {
      if (item.size && item.axis == axis) refuse_size(n, item);
      bound = std::min(bound, item.value->shape()[along.axis]);
      if (!item.size) along.size = nullptr;
    }
    for (Item& item : in)
      if (item.size) item.value = with_bound(item, bound);
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

// Rows of at's axis, the first one in place of those that are not real.
Value* Specializer::from_front(const Item& at, Value* size) {
  Value* place = places(at.value->shape()[at.axis]);
  return gathered(at, newest("Where", {newest("Less", {place, size}), place, integer(0)}));
}

// Rows of indices that are not real do nothing: they name the first row's place with its value, or
// have an update that changes nothing.
Specializer::Followed Specializer::follow_scatter(const Node& n, Items& in) {
  const bool elements = n.op_type != "ScatterND";
  const Item x = in[0];
  Item at = in[1], updates = in[2];
  const auto rank = static_cast<int64_t>(x.value->shape().size());
  const auto along = static_cast<size_t>(normalize_axis(n.int_attr("axis", 0), rank));
  const Followed out{x.size, x.axis};
  if (!elements && at.size && at.axis + 1 >= at.value->shape().size()) refuse_size(n, at);
  if (at.size && updates.size && at.axis != updates.axis) refuse_size(n, updates);
  if (!at.size && updates.size) at.sized(integer(at.value->shape()[updates.axis]), updates.axis);
  if (x.size && (!elements || x.axis == along)) {
    // A negative index counts from the end of what is real.
    Value *place = newest("Cast", {at.value}, {{"to", onnx_type(DType::s64)}}), *length = x.size;
    if (!elements) {
      std::vector<Value*> dims;
      for (int64_t d = 0; d < at.value->shape().back(); d++) {
        const auto k = static_cast<size_t>(d);
        dims.push_back(k == x.axis ? reshape(x.size, {1})
                                   : integers(std::array{x.value->shape()[k]}));
      }
      length = dims.empty() ? integer(0) : make("Concat", "", dims, {{"axis", int64_t{0}}})[0];
    }
    at.value = newest("Where",
                      {newest("Less", {place, integer(0)}), newest("Add", {place, length}), place});
  }
  in[1].value = at.value;
  if (!at.size) return out;
  const int64_t bound = std::min(at.value->shape()[at.axis], updates.value->shape()[at.axis]);
  updates.sized(at.size, at.axis);
  in[1].value = at.value = with_bound(at, bound);
  in[2].value = updates.value = with_bound(updates, bound);
  if (bound == 0) return out;
  in[1].value = from_front(at, at.size);
  const std::string how = n.string_attr("reduction", "none");
  const DType type = updates.value->dtype();
  if (how == "add") {
    in[2].value = zero_filled(updates);
  } else if (how == "mul") {
    in[2].value = filled(updates, ops::scalar_tensor(type, 1));
  } else if (how == "max" || how == "min") {
    in[2].value = filled(updates, extreme(type, how == "min"));
  } else {
    in[2].value = from_front(updates, at.size);
    return {.size = out.size, .axis = out.axis, .after = [this, x, size = at.size](Value* y) {
              return newest("Where", {newest("Greater", {size, integer(0)}), y, x.value});
            }};
  }
  return out;
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
  Item a = in[0], b = in[1];
  if ((a.size && a.axis == ka) || (b.size && b.axis == kb)) {
    // One length, which may have two bounds.
    const int64_t bound = std::min(a.value->shape()[ka], b.value->shape()[kb]);
    if (a.size && a.axis == ka) in[0].value = a.value = with_bound(a, bound);
    if (b.size && b.axis == kb) in[1].value = b.value = with_bound(b, bound);
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
  if (op == "ConstantOfShape") return follow_constant_of_shape(n, in);
  if (op == "Range") return follow_range(n, in);
  if (op == "Expand") return follow_expand(n, in);
  if (op == "Tile" && in.size() == 2) return follow_tile(n, in);
  if (op == "Reshape") return follow_reshape_node(n, in);
  if (op == "Slice") return follow_slice(n, in);
  if (op == "TopK") return follow_top(n, in);
  for (size_t i = 0; i < in.size(); i++)
    if (in[i].actual && decides_shape(n, i)) refuse_shape(n, in[i]);
  if (facts.per_element) return follow_elementwise(n, in);
  if (op.starts_with("Reduce") || op == "ArgMax" || op == "ArgMin")
    return in[0].size ? follow_reduction(n, in) : Followed{};
  if (op == "Concat") return follow_concat(n, in);
  if (op == "ScatterND" || op == "ScatterElements" || op == "Scatter") return follow_scatter(n, in);
  if (op == "MatMul" || op == "Gemm") return follow_matmul(n, in);
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
  if (op == "Flatten") {
    const auto given = n.int_attr("axis", 1);
    const auto axis = static_cast<size_t>(given < 0 ? given + rank : given);
    const int64_t rows = before(shape, axis), columns = rows == 0 ? 0 : element_count(shape) / rows;
    const bool row = x.axis < axis;
    return follow_reshape(
        n, x, {{rows, row ? -1 : rows, nullptr}, {columns, row ? columns : -1, nullptr}});
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
  if (op == "Split" && axis_attr(0) != x.axis) return same();
  if (op == "OneHot") {
    const int64_t at = normalize_axis(n.int_attr("axis", -1), rank + 1);
    return {x.size, x.axis + (at <= static_cast<int64_t>(x.axis) ? 1 : 0)};
  }
  if (op == "RoiAlign" && !x.size && in[1].axis == 0) {
    // Regions of no image cost nothing.
    in[2].sized(in[1].size, 0);
    in[2].value = filled(in[2], ops::scalar_tensor(in[2].value->dtype(), -1));
    return {in[1].size, 0};
  }
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
  Value* count = nullptr;
  if (in.size() > 1 && in[1].actual) {
    count = extents(n, in[1])[0].actual;
    if (x.size && x.axis != axis) refuse_shape(n, in[1]);
  }
  if (!x.size) return {count, axis};
  if (x.axis != axis) return {x.size, x.axis};
  in[0].value = filled(x, extreme(x.value->dtype(), n.int_attr("largest", 1) == 0));
  return {count, axis};
}

// Shape and Size of a sized tensor: constants where shapes are decided, what they really are where
// they are numbers.
void Specializer::give_actual(const Node& n, const Item& x) {
  const Shape& bound = x.value->shape();
  Item& out = items_[n.output()];
  if (n.op_type == "Size") {
    out.actual = newest(
        "Mul", {x.size, integer(bound[x.axis] == 0 ? 0 : element_count(bound) / bound[x.axis])});
    out.least = integer(0);
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
  Shape least(bound.begin() + static_cast<ptrdiff_t>(from),
              bound.begin() + static_cast<ptrdiff_t>(to));
  least[x.axis - from] = 0;
  out.least = integers(least);
}

}  // namespace poprt::compiler
