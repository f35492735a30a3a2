#include "ops/bound.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/onnx_dtype.h"
#include "ir/newest.h"
#include "ops/common/movement.h"
#include "ops/common/scalar.h"
#include "ops/facts.h"

namespace poprt::ops {

using ir::Node;
using ir::Value;

bool any_below(const Value* v, double number) {
  const std::vector<double> all = v->constant().to_doubles();
  return std::any_of(all.begin(), all.end(), [&](double x) { return x < number; });
}

bool holds_sizes(const Value* v) {
  return (v->dtype() == DType::s64 || v->dtype() == DType::s32) && v->type.is_static() &&
         element_count(v->shape()) <= kMostSizes;
}

bool same_size(const Value* a, const Value* b) {
  const auto is_known = [](const Value* v) {
    return v && v->is_constant() && (v->dtype() == DType::s64 || v->dtype() == DType::s32);
  };
  return a == b ||
         (is_known(a) && is_known(b) && a->constant().to_int64s() == b->constant().to_int64s());
}

namespace {

using Limit = std::optional<int64_t>;

// The operands whose limits decide the limit of `v`, if it is one number that a node computes.
std::span<Value* const> deciding(const Value* v) {
  const auto is_one = [](const Value* of) {
    return of && of->type.is_static() && element_count(of->shape()) == 1;
  };
  if (!is_one(v) || (v->dtype() != DType::s64 && v->dtype() != DType::s32)) return {};
  const Node* n = v->is_constant() ? nullptr : v->producer();
  if (!n || !ir::is_onnx_domain(n->domain) || n->inputs().empty()) return {};
  const Facts& facts = facts_of(*n);
  if (facts.source == ElementSource::itself || facts.source == ElementSource::in_order ||
      facts.cast == CastForm::to_type)
    return n->inputs().first(1);
  if (n->op_type == "Min") return n->inputs();
  return facts.source == ElementSource::chosen ? n->inputs().subspan(1) : std::span<Value* const>();
}

// The number of paths to a value may be exponential in the depth of the graph, so the limit of each
// value is computed once and stored.
using Limits = std::unordered_map<const Value*, Limit>;

// The limit of `v` from those of its operands.
Limit limit_from(const Value* v, std::span<Value* const> operands, const Limits& limits) {
  const bool is_number = v && (v->dtype() == DType::s64 || v->dtype() == DType::s32) &&
                         v->is_constant() && v->constant().count() == 1;
  if (is_number) return v->constant().to_int64s()[0];
  if (operands.empty()) return std::nullopt;
  const Node& n = *v->producer();
  if (operands.size() == 1) return limits.at(operands[0]);
  // One operand with a limit suffices for a minimum only.
  const bool is_least = n.op_type == "Min" || extremum_of(n) == Extremum::least;
  Limit limit;
  for (const Value* operand : operands) {
    const Limit own = limits.at(operand);
    if (!own && !is_least) return std::nullopt;
    if (!own) continue;
    limit = !limit ? own : is_least ? std::min(*limit, *own) : std::max(*limit, *own);
  }
  return limit;
}

}  // namespace

bool is_linear_in(const Value* size, const Value* of) {
  std::unordered_set<const Value*> seen;
  std::vector<const Value*> open = {size};
  while (!open.empty()) {
    const Value* v = open.back();
    open.pop_back();
    if (v == of || v->is_constant() || !seen.insert(v).second) continue;
    const Node* n = v->producer();
    if (!n || !ir::is_onnx_domain(n->domain) || n->inputs().size() != 2) return false;
    const Value *a = n->input(0), *b = n->input(1);
    const bool sum = n->op_type == "Add" || n->op_type == "Sub";
    const bool scaled = n->op_type == "Mul" && (a->is_constant() || b->is_constant());
    if (!sum && !scaled) return false;
    open.push_back(a);
    open.push_back(b);
  }
  return true;
}

std::optional<int64_t> upper_limit(const Value* v) {
  struct Open {
    const Value* value;
    std::span<Value* const> operands;
    size_t next = 0;  // the first operand whose limit may not be known
  };
  Limits limits;
  std::vector<Open> open = {{v, deciding(v)}};
  while (!open.empty()) {
    Open& top = open.back();
    while (top.next < top.operands.size() && limits.contains(top.operands[top.next])) top.next++;
    if (top.next < top.operands.size()) {
      const Value* operand = top.operands[top.next];
      open.push_back({operand, deciding(operand)});
    } else {
      limits[top.value] = limit_from(top.value, top.operands, limits);
      open.pop_back();
    }
  }
  return limits.at(v);
}

std::optional<Extremum> extremum_of(const Node& where) {
  const Value* condition = where.input(0);
  const Node* by = condition ? condition->producer() : nullptr;
  if (!by || !ir::is_onnx_domain(by->domain) || by->inputs().size() != 2) return std::nullopt;
  const bool less = by->op_type == "Less" || by->op_type == "LessOrEqual";
  if (!less && by->op_type != "Greater" && by->op_type != "GreaterOrEqual") return std::nullopt;
  const auto is_operand = [&](size_t of, size_t i) {
    return same_size(by->input(of), where.input(i));
  };
  const bool straight = is_operand(0, 1) && is_operand(1, 2);
  if (!straight && !(is_operand(0, 2) && is_operand(1, 1))) return std::nullopt;
  return less == straight ? Extremum::least : Extremum::most;
}

std::optional<Step> step_between(const Value* before, const Value* after) {
  const Node* n = after->producer();
  if (!n || !ir::is_onnx_domain(n->domain) || n->inputs().size() != 2) return std::nullopt;
  Value *a = n->input(0), *b = n->input(1);
  if (n->op_type == "Add" && (a == before || b == before)) return Step{a == before ? b : a, false};
  if (n->op_type == "Sub" && a == before) return Step{b, true};
  return std::nullopt;
}

size_t BoundContext::axis_attr(int64_t fallback) const {
  return static_cast<size_t>(
      normalize_axis(node.int_attr("axis", fallback), static_cast<int64_t>(shape().size())));
}

std::vector<int64_t> BoundContext::constant_ints(size_t i) const {
  if (!in[i].value || !in[i].value->is_constant())
    fail_at(ErrorCode::unimplemented, "input {} must be constant", i);
  return in[i].value->constant().to_int64s();
}

std::vector<int64_t> BoundContext::axes_of(size_t input, size_t rank) const {
  std::vector<int64_t> axes = has(input) ? constant_ints(input) : node.ints_attr("axes");
  for (int64_t& a : axes) a = normalize_axis(a, static_cast<int64_t>(rank));
  return axes;
}

std::vector<Extent> BoundContext::extents(size_t i) {
  const Item& item = in[i];
  if (!item.value || !item.value->is_constant()) refuse_unbounded(i);
  const std::vector<int64_t> most = item.value->constant().to_int64s();
  const std::vector<int64_t> least =
      item.actual ? item.least->constant().to_int64s() : std::vector<int64_t>(most);
  std::vector<Extent> out;
  for (size_t k = 0; k < most.size(); k++)
    out.push_back({least[k], most[k],
                   least[k] == most[k]
                       ? nullptr
                       : element_of(item.actual, static_cast<int64_t>(k), most[k])});
  return out;
}

namespace {

// Whether the type represents every integer up to `most`.
bool is_exact_up_to(DType type, int64_t most) {
  if (!is_float(type)) return type == DType::s64 || (type == DType::s32 && most <= INT32_MAX);
  const int bits = type == DType::f64 ? 53 : type == DType::f32 ? 24 : 0;
  return most <= int64_t{1} << bits;
}

// The operand that always is the minimum, because the constants of the other operand are above
// `most`, a bound of the result. Null if there is none.
Value* unlimited(const Node& n, int64_t k, int64_t most) {
  if (n.op_type != "Min" || n.inputs().size() != 2) return nullptr;
  for (const size_t i : {0u, 1u}) {
    Value *limit = n.input(i), *other = n.input(1 - i);
    if (!limit || !other || !limit->is_constant() || other->is_constant()) continue;
    const std::vector<double> limits = limit->constant().to_doubles();
    const size_t at = limits.size() == 1 ? 0 : static_cast<size_t>(k);
    if (at < limits.size() && limits[at] > static_cast<double>(most) && other->type.is_static() &&
        other->shape() == n.output()->shape())
      return other;
  }
  return nullptr;
}

}  // namespace

Place BoundContext::origin_of(Value* v, int64_t k, std::optional<int64_t> most) {
  const auto count = [](const Value* of) { return element_count(of->shape()); };
  const auto constants = [](const Value* of) { return of->constant().to_int64s(); };
  for (;;) {
    const Node* n = v->producer();
    if (!n || n->inputs().empty() || !ir::is_onnx_domain(n->domain)) break;
    const Facts& facts = facts_of(*n);
    Value* first = n->input(0);
    if (!first || !first->type.is_static()) break;
    const auto constant_input = [&](size_t i) {
      return i < n->inputs().size() && n->input(i) && n->input(i)->is_constant();
    };
    if (facts.source == ElementSource::joined && v->shape().size() == 1) {
      for (Value* part : n->inputs()) {
        v = part;
        if (k < count(part)) break;
        k -= count(part);
      }
    } else if (facts.source == ElementSource::itself || facts.source == ElementSource::in_order ||
               (facts.cast == CastForm::to_type && first->dtype() == v->dtype()) ||
               (facts.cast == CastForm::to_type && most && is_exact_up_to(first->dtype(), *most) &&
                is_exact_up_to(v->dtype(), *most))) {
      v = first;
    } else if (Value* operand = most ? unlimited(*n, k, *most) : nullptr) {
      v = operand;
    } else if (facts.source == ElementSource::picked && first->shape().size() == 1 &&
               constant_input(1)) {
      k = constants(n->input(1))[static_cast<size_t>(k)];
      if (k < 0) k += count(first);
      v = first;
    } else if (facts.source == ElementSource::chosen && constant_input(0) &&
               v->shape().size() <= 1) {
      const std::vector<int64_t> condition = constants(n->input(0));
      const bool yes = condition[condition.size() == 1 ? 0 : static_cast<size_t>(k)] != 0;
      v = n->input(yes ? 1 : 2);
      if (count(v) == 1) k = 0;
    } else {
      break;
    }
  }
  return {v, k};
}

Value* BoundContext::element_of(Value* v, int64_t k, std::optional<int64_t> most) {
  const Place origin = origin_of(v, k, most);
  v = origin.value;
  if (const int64_t count = element_count(v->shape()); count != 1)
    v = build.newest("Gather", {build.reshape(v, {count}), build.integer(origin.at)},
                     {{"axis", int64_t{0}}});
  v = build.reshape(v, {});
  return v->dtype() == DType::s64
             ? v
             : build.newest("Cast", {v}, {{"to", onnx_from_dtype(DType::s64).value()}});
}

void BoundContext::refuse_size(const Item& item) const {
  std::string_view name = item.value->name();
  for (size_t i = 0; i < in.size(); i++)
    if (node.input(i) && in[i].size == item.size) name = node.input(i)->name();
  fail_at(
      ErrorCode::unimplemented,
      "the size of '{}' along axis {} depends on data (at most {}), and there is no rule for it "
      "in this operator; make what it depends on constant, or end the model before it",
      name, item.axis, item.value->shape()[item.axis]);
}

void BoundContext::refuse_shape(size_t i) const {
  fail_at(
      ErrorCode::unimplemented,
      "{} has more than one dimension that depends on data, or one with no bound that is known; "
      "make what it depends on constant, or end the model before it",
      node.input(i) ? fmt::format("'{}'", node.input(i)->name()) : "its result");
}

void BoundContext::refuse_unbounded(size_t i) {
  fail_at(ErrorCode::unimplemented,
          "'{}' decides a shape and depends on data, with no bound that is known; {}",
          node.input(i) ? node.input(i)->name() : "", is_trial ? "" : shape_remedy());
}

BoundResult BoundContext::refuse_sizes(size_t from) const {
  for (size_t i = from; i < in.size(); i++)
    if (in[i].size) refuse_size(in[i]);
  return {};
}

Value* BoundContext::filled(const Item& item, Value* filling) {
  Shape along(item.value->shape().size(), 1);
  along[item.axis] = item.value->shape()[item.axis];
  Value* real =
      build.newest("Less", {build.reshape(build.indices(along[item.axis]), along), item.size});
  return build.newest("Where", {real, item.value, filling});
}

Value* BoundContext::zero_filled(const Item& item) {
  return filled(item, scalar_tensor(item.value->dtype(), 0));
}

Value* BoundContext::with_bound(const Item& x, int64_t bound) {
  Shape shape = x.value->shape();
  const int64_t room = shape[x.axis];
  if (bound == room) return x.value;
  const auto axis = static_cast<int64_t>(x.axis);
  if (bound < room)
    return build.newest("Slice",
                        {x.value, build.integers(std::array<int64_t, 1>{0}),
                         build.integers(std::array{bound}), build.integers(std::array{axis})});
  shape[x.axis] = bound - room;
  return build.make1("Concat", {x.value, build.constant(Tensor::zeros(x.value->dtype(), shape))},
                     {{"axis", axis}});
}

Value* BoundContext::from_front(const Item& at, Value* size) {
  Value* place = build.indices(at.value->shape()[at.axis]);
  return gathered(
      at, build.newest("Where", {build.newest("Less", {place, size}), place, build.integer(0)}));
}

Value* BoundContext::checked(kernels::calls::Fitting what, const Item& at, Value* size,
                             int64_t invalid, std::optional<size_t> component) {
  Value* y = build.make1("CheckIndex", {at.value, size, at.size},
                         {{"what", static_cast<int64_t>(what)},
                          {"invalid", invalid},
                          {"axis", static_cast<int64_t>(at.axis)},
                          {"component", component ? static_cast<int64_t>(*component) : -1}},
                         "poprt");
  // The error names the node of the model.
  if (y->producer())
    y->producer()->name = build.scope() + (node.name.empty() ? node.output()->name() : node.name);
  return y;
}

Value* BoundContext::checked_index(const Item& at, Value* size, int64_t invalid,
                                   std::optional<size_t> component) {
  return checked(kernels::calls::Fitting::index, at, size, invalid, component);
}

Value* BoundContext::checked_number(kernels::calls::Fitting what, Value* number, Value* most) {
  return checked(what, Item::of(number), most, 0, std::nullopt);
}

void BoundContext::ensure_place(size_t i, size_t axis) {
  Item x = Item::of(in[i].value);
  x.axis = axis;
  if (x.value->shape()[axis] == 0) in[i].value = with_bound(x, 1);
}

Item BoundContext::compacted(const Item& x) {
  const Shape& shape = x.value->shape();
  const int64_t outer = partial_product(shape, 0, x.axis), bound = shape[x.axis];
  const int64_t inner = partial_product(shape, x.axis + 1, shape.size()), rows = outer * bound;
  Item out = Item::of(build.reshape(x.value, {rows, inner}));
  out.sized(x.size, 0);
  if (rows == 0) out.size = build.integer(0);
  if (outer == 1 || rows == 0) return out;
  Value *place = build.indices(rows), *n = build.newest("Max", {x.size, build.integer(1)});
  Value* row = build.newest(
      "Add", {build.newest("Mul", {build.newest("Div", {place, n}), build.integer(bound)}),
              build.newest("Mod", {place, n})});
  out.value = gathered(out, build.newest("Min", {row, build.integer(rows - 1)}));
  out.size = build.size_of("Mul", x.size, build.integer(outer));
  return out;
}

AxisSize BoundContext::broadcast_size(std::span<const AxisSize> all) {
  AxisSize out = all[0];
  for (const AxisSize& m : all.subspan(1)) {
    if (!m.size || !out.size) {
      if (out.size) out = m;
    } else if (same_size(out.size, m.size)) {
      out.bound = std::min(out.bound, m.bound);
    } else {
      Value* one = build.size_of("Equal", out.size, build.integer(1));
      out = {build.newest("Where", {one, m.size, out.size}), std::max(out.bound, m.bound)};
    }
  }
  return out;
}

Value* BoundContext::broadcast_to(const Item& x, const AxisSize& common) {
  const int64_t room = x.value->shape()[x.axis];
  if (same_size(x.size, common.size) || room == 0) return with_bound(x, common.bound);
  Value* place = build.newest("Min", {build.indices(common.bound), build.integer(room - 1)});
  return gathered(x, build.newest("Where", {build.newest("Equal", {x.size, build.integer(1)}),
                                            build.integer(0), place}));
}

}  // namespace poprt::ops
