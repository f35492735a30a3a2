#include "kernels/calls/one_hot.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/movement.h"

namespace poprt::ops::one_hot_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &indices = ctx.in(0), &values = ctx.in(2);
  const DType t = indices.dtype;
  if (t != DType::undefined && t != DType::s32 && t != DType::s64 && t != DType::f32)
    ctx.fail_unsupported("indices of type {}; cast them to s64", dtype_name(t));
  if (values.has_shape && is_static(values.shape) && element_count(values.shape) != 2)
    ctx.fail_input("values should be [off, on], found {}", shape_string(values.shape));
  if (!indices.has_shape) return ctx.out_dtype(0, values.dtype);
  int64_t depth = kUnknownDim;
  if (const Tensor* d = ctx.constant(1)) {
    if (d->count() != 1) ctx.fail_input("depth should be one number");
    const double value = d->to_doubles()[0];
    if (!(value >= 0 && value < 1e15)) ctx.fail_input("depth is {}", value);
    depth = static_cast<int64_t>(value);
  }
  const auto rank = static_cast<int64_t>(indices.shape.size());
  const int64_t axis = axis_of(ctx, ctx.node.int_attr("axis", -1), rank + 1);
  Shape out = indices.shape;
  out.insert(out.begin() + axis, depth);
  ctx.out(0, values.dtype, std::move(out));
}

void lower(LowerContext& ctx) {
  const Shape &in = ctx.in_shape(0), &out = ctx.out_shape();
  element_bytes(ctx, ctx.out_dtype());
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", -1), static_cast<int64_t>(out.size())));
  ctx.emit(calls::OneHot{.outer = partial_product(in, 0, axis),
                         .depth = out[axis],
                         .inner = partial_product(in, axis, in.size())},
           {ctx.in(0), ctx.in(2), ctx.out(0)});
}

BoundResult bound(BoundContext& ctx) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  ctx.refuse_sizes(1);
  const Item& x = in[0];
  const auto rank = static_cast<int64_t>(x.value->shape().size());
  const int64_t at = normalize_axis(n.int_attr("axis", -1), rank + 1);
  return {x.size, x.axis + (at <= static_cast<int64_t>(x.axis) ? 1 : 0)};
}

void map_axes(AxesContext& ctx) {
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", -1), static_cast<int64_t>(ctx.out().size())));
  axes::range(ctx, 0, 0, axis, 0, 0);
  axes::range(ctx, 0, axis, ctx.in(0).size(), 0, axis + 1);
  ctx.number(0, axis);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "OneHot",
                   .since = 9,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::movement,
                   .facts = {.narrows = true,
                             .shape_inputs = 0b10,
                             .constant_inputs = 0b10,
                             .flops = flops::none,
                             .trial = {"s64[2]; s64[1] = [3]; T[2]"}},
                   .bound = bound};

}  // namespace poprt::ops::one_hot_op
