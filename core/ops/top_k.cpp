// Below opset 10, k is an attribute; from opset 10 on it is an input. Lowering requires a constant
// k, which may be a bound (see bound()).
#include "kernels/calls/top_k.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <vector>

#include "ir/newest.h"
#include "ops/bound.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/reduce.h"

namespace poprt::ops::top_k_op {
namespace {

std::optional<int64_t> count_of(const ir::Node& node) {
  if (node.opset() < 10) return node.int_attr("k", 0);
  const ir::Value* k = node.input(1);
  if (!k || !k->is_constant()) return std::nullopt;
  const auto values = k->constant().to_int64s();
  return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
}

void infer(InferContext& ctx) {
  const ir::ValueType& t = ctx.in(0);
  if (!t.has_shape) {
    ctx.out_dtype(0, t.dtype);
    return ctx.out_dtype(1, DType::s64);
  }
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", -1), static_cast<int64_t>(t.shape.size())));
  const auto k = count_of(ctx.node);
  Shape shape = t.shape;
  if (k && (*k < 0 || (shape[axis] >= 0 && *k > shape[axis])))
    ctx.fail_input("k is {}, the axis has {} elements", *k, shape[axis]);
  shape[axis] = k ? *k : kUnknownDim;
  ctx.out(0, t.dtype, shape);
  ctx.out(1, DType::s64, shape);
}

void lower(LowerContext& ctx) {
  const auto k = count_of(ctx.node);
  if (!k) ctx.fail_unsupported("k must be constant");
  const Shape& shape = ctx.in_shape(0);
  const AxisSplit s = split_at(
      shape, normalize_axis(ctx.node.int_attr("axis", -1), static_cast<int64_t>(shape.size())));
  const DType t = ctx.in_dtype(0);
  const bool narrow = is_float(t) && t != DType::f32 && t != DType::f64;
  const auto values = narrow ? out_as_f32(ctx, 0) : ctx.out(0);
  ctx.emit(calls::TopK{.outer = s.outer,
                       .n = s.n,
                       .inner = s.inner,
                       .k = *k,
                       .largest = ctx.node.int_attr("largest", 1) != 0},
           {narrow ? in_as_f32(ctx, 0) : ctx.in(0), values, ctx.out(1)});
  if (narrow) finish_f32(ctx, 0, values);
}

// Whether k is known not to exceed the size: it is the size, 0, a checked number, or a minimum of
// the size and other numbers.
bool is_at_most(BoundContext& ctx, ir::Value* k, const ir::Value* size) {
  std::unordered_set<const ir::Value*> seen;
  std::vector<ir::Value*> open;  // other numbers of the minimum, the next one last
  for (;;) {
    if (same_size(k, size)) return true;
    if (k->is_constant()) {
      if (k->constant().to_int64s()[0] <= 0) return true;
    } else if (const ir::Node* n = k->producer(); n && seen.insert(k).second) {
      const bool is_least = n->op_type == "Min" && ir::is_onnx_domain(n->domain);
      if (n->is("CheckIndex", "poprt")) {
        if (same_size(n->input(1), size)) return true;
      } else if (is_least || (facts_of(*n).source == ElementSource::chosen &&
                              extremum_of(*n) == Extremum::least)) {
        const auto numbers = n->inputs().subspan(is_least ? 0 : 1);
        for (size_t i = numbers.size(); i-- > 0;)
          if (numbers[i]->type.is_static() && element_count(numbers[i]->shape()) == 1)
            open.push_back(numbers[i]);
      }
    }
    if (open.empty()) return false;
    k = ctx.element_of(open.back(), 0);
    open.pop_back();
  }
}

BoundResult bound(BoundContext& ctx) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  const Item x = in[0];
  const auto axis = static_cast<size_t>(
      normalize_axis(n.int_attr("axis", -1), static_cast<int64_t>(x.value->shape().size())));
  const int64_t room = x.value->shape()[axis];
  ir::Value* count = nullptr;
  if (in.size() > 1 && in[1].actual) {
    const Extent k = ctx.extents(1)[0];
    if (x.size && x.axis != axis) ctx.refuse_shape(1);
    count = k.actual;
    // ONNX limits k to the length of the axis, which may be less than the bound of k.
    if (count && k.most > room) {
      in[1].value = ctx.build.integers(std::array{room});
      count =
          ctx.checked_number(calls::Fitting::k, count, x.size ? x.size : ctx.build.integer(room));
    }
  }
  if (!x.size) return {count, axis};
  if (x.axis != axis) return {x.size, x.axis};
  Item real = x;
  const int64_t constant = in.size() > 1 ? ctx.constant_ints(1).at(0) : n.int_attr("k", 0);
  if (ir::Value* k = count ? count : ctx.build.integer(constant); !is_at_most(ctx, k, x.size))
    // The maximum is the size itself, unless k is invalid. It reads the checked number, so that the
    // check is not removed as unused.
    real.size = ctx.build.newest("Max", {x.size, ctx.checked_number(calls::Fitting::k, k, x.size)});
  in[0].value = ctx.filled(real, extreme(x.value->dtype(), n.int_attr("largest", 1) == 0));
  return {count, axis};
}

// k is at most the length of the axis.
std::optional<NumberLimits> limits(const BoundContext& ctx, size_t) {
  return NumberLimits{0, ctx.shape()[ctx.axis_attr(-1)], true};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "TopK",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::along_attribute<-1>,
                   .cost = cost::sort,
                   .facts = {.shape_inputs = 0b10,
                             .bounds_shape = true,
                             .constant_inputs = 0b10,
                             .shape_limits = limits,
                             .trial = {"T[4,4]; s64[1] = [2]", "", 2}},
                   .bound = bound};

}  // namespace poprt::ops::top_k_op
