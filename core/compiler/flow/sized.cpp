// Operators that read a tensor of which only a part is real (Item::size). The rule of each says how
// much of its result is real, and fills what must not count (a sum's padding with zeros, a
// maximum's with the least number). What has no such rule is refused: it would compute with
// padding.
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

}  // namespace

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

Item Specializer::actual_of(const Item& item) { return item.actual ? Item::of(item.actual) : item; }

Specializer::Items Specializer::actual_of(Items items) {
  for (Item& item : items) item = actual_of(item);
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

// Reductions and ArgMax, ArgMin: what is not real becomes `filling`.
Specializer::SizedResult Specializer::follow_reduced(const Node& n, Items& in,
                                                     std::vector<int64_t> axes,
                                                     const Tensor& filling) {
  const Item x = in[0];
  const size_t rank = x.value->shape().size();
  if (axes.empty() && n.int_attr("noop_with_empty_axes", 0) != 0) return {x.size, x.axis};
  if (axes.empty())
    for (size_t d = 0; d < rank; d++) axes.push_back(static_cast<int64_t>(d));
  const auto at = static_cast<int64_t>(x.axis);
  if (std::find(axes.begin(), axes.end(), at) != axes.end()) {
    in[0].value = filled(x, filling);
    return {};
  }
  size_t axis = x.axis;
  if (n.int_attr("keepdims", 1) == 0)
    for (const int64_t a : axes) axis -= a < at;
  return {x.size, axis};
}

Specializer::SizedResult Specializer::follow_reduction(const Node& n, Items& in) {
  if (!in[0].size) return {};
  const ops::SizeRule rule = ops::facts_of(n).size_rule;
  const DType type = in[0].value->dtype();
  const bool least = rule == ops::SizeRule::reduce_from_least;
  const bool most = rule == ops::SizeRule::reduce_from_most;
  const Tensor filling =
      least || most ? extreme(type, most)
                    : ops::scalar_tensor(type, rule == ops::SizeRule::reduce_from_one ? 1 : 0);
  return follow_reduced(n, in, axes_of(n, in, 1, in[0].value->shape().size()), filling);
}

Specializer::SizedResult Specializer::follow_reduce_mean(const Node& n, Items& in) {
  if (!in[0].size) return {};
  const Item x = in[0];
  const DType type = x.value->dtype();
  SizedResult out = follow_reduced(n, in, axes_of(n, in, 1, x.value->shape().size()),
                                   ops::scalar_tensor(type, 0));
  if (out.size) return out;
  // The sum was divided by the bound.
  if (!is_float(type)) refuse_size(n, x);
  const auto bound = static_cast<double>(x.value->shape()[x.axis]);
  out.after = [this, type, bound, size = x.size](Value* mean) {
    Value* scale = newest("Div", {constant(ops::scalar_tensor(type, bound)),
                                  newest("Cast", {size}, {{"to", onnx_type(type)}})});
    return newest("Mul", {mean, scale});
  };
  return out;
}

Specializer::SizedResult Specializer::follow_arg(const Node& n, Items& in) {
  if (!in[0].size) return {};
  const auto rank = static_cast<int64_t>(in[0].value->shape().size());
  const bool least = ops::facts_of(n).size_rule == ops::SizeRule::arg_min;
  return follow_reduced(n, in, {normalize_axis(n.int_attr("axis", 0), rank)},
                        extreme(in[0].value->dtype(), least));
}

// Real parts one behind the other.
Specializer::SizedResult Specializer::follow_concat(const Node& n, Items& in) {
  const auto rank = static_cast<int64_t>(in[0].value->shape().size());
  const auto axis = static_cast<size_t>(normalize_axis(n.int_attr("axis", 1), rank));
  SizedResult along;
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
Specializer::SizedResult Specializer::follow_scatter(const Node& n, Items& in) {
  const bool elements = ops::facts_of(n).size_rule != ops::SizeRule::scatter_nd;
  const Item x = in[0];
  Item at = in[1], updates = in[2];
  const auto rank = static_cast<int64_t>(x.value->shape().size());
  const auto along = static_cast<size_t>(normalize_axis(n.int_attr("axis", 0), rank));
  const SizedResult out{x.size, x.axis};
  if (!elements && at.size && at.axis + 1 >= at.value->shape().size()) refuse_size(n, at);
  if (at.size && updates.size && at.axis != updates.axis) refuse_size(n, updates);
  const size_t places_rank = at.value->shape().size() - 1;
  if (!elements && updates.value->shape().size() > places_rank) {
    // What stands at one place has dimensions of x, and their bounds.
    const auto depth = static_cast<size_t>(at.value->shape().back());
    const bool in_place = updates.size && updates.axis >= places_rank;
    const size_t inside = x.size && x.axis >= depth ? places_rank + x.axis - depth : 0;
    if (in_place && (!x.size || x.axis < depth || inside != updates.axis)) refuse_size(n, updates);
    if (x.size && x.axis >= depth) {
      Item part = updates;
      part.axis = inside;
      in[2].value = updates.value = with_bound(part, x.value->shape()[x.axis]);
      if (in_place) updates = Item::of(updates.value);
    }
  }
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

Specializer::SizedResult Specializer::follow_matmul(const Node& n, Items& in) {
  const bool gemm = ops::facts_of(n).layer == ops::LayerForm::gemm;
  const size_t ra = in[0].value->shape().size(), rb = in[1].value->shape().size();
  const bool flip_a = gemm && n.int_attr("transA", 0) != 0;
  const bool flip_b = gemm && n.int_attr("transB", 0) != 0;
  const size_t ka = flip_a ? 0 : ra - 1;
  const size_t kb = rb == 1 ? 0 : flip_b ? rb - 1 : rb - 2;
  const size_t rank = std::max(ra, rb);
  SizedResult out;
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
  const bool rows = a.size && a.axis != ka, columns = b.size && b.axis != kb;
  const bool a_batch = rows && !gemm && a.axis + 2 < ra,
             b_batch = columns && !gemm && b.axis + 2 < rb;
  if (a_batch || b_batch) {
    const size_t axis = a_batch ? a.axis + rank - ra : b.axis + rank - rb;
    if (b_batch && b.axis + rank - rb != axis) refuse_size(n, b);
    std::vector<Meeting> all;
    for (const Item* item : {&a, &b}) {
      const Shape& shape = item->value->shape();
      if (shape.size() + axis < rank || axis + shape.size() - rank + 2 >= shape.size()) continue;
      const size_t own = axis + shape.size() - rank;
      Value* size = item->size && item->axis == own ? item->size : nullptr;
      if (size || shape[own] != 1) all.push_back({size, shape[own]});
    }
    const Meeting meeting = meet(all);
    if (a_batch) in[0].value = a.value = met(a, meeting);
    if (b_batch) in[1].value = b.value = met(b, meeting);
    if (meeting.size) set(meeting.size, axis);
  }
  if (rows && !a_batch) set(a.size, gemm ? 0 : a.axis + rank - ra);
  if (columns && !b_batch) set(b.size, gemm ? 1 : rank - 1 - (ra == 1 ? 1 : 0));
  if (gemm && in.size() > 2 && in[2].size) {
    const size_t axis = in[2].axis + 2 - in[2].value->shape().size();
    const int64_t room = axis == 0 ? a.value->shape()[1 - ka] : b.value->shape()[1 - kb];
    Value* size = out.size && out.axis == axis ? out.size : nullptr;
    const Meeting meeting = meet(
        std::array{Meeting{in[2].size, in[2].value->shape()[in[2].axis]}, Meeting{size, room}});
    in[2].value = met(in[2], {meeting.size, room});
    if (meeting.size) set(meeting.size, axis);
  } else if (gemm && in.size() > 2 && in[2].value && out.size) {
    const Shape& shape = in[2].value->shape();
    Item c = in[2];
    c.axis = out.axis + shape.size() - 2;
    if (out.axis + shape.size() >= 2 && shape[c.axis] != 1)
      in[2].value =
          with_bound(c, out.axis == 0 ? a.value->shape()[1 - ka] : b.value->shape()[1 - kb]);
  }
  return out;
}

// Shape and Size of a sized tensor: constants where shapes are decided, what they really are where
// they are numbers.
void Specializer::give_actual(const Node& n, const Item& x) {
  const Shape& bound = x.value->shape();
  Item& out = items_[n.output()];
  if (item_of(n.output()).value->shape().empty()) {  // one number: that of all elements
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
