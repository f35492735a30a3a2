// ArgMax and ArgMin.
#pragma once

#include "kernels/calls/arg_extreme.h"
#include "ops/bound.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/reduce.h"

namespace poprt::ops {

inline void infer_arg(InferContext& ctx) {
  const ir::ValueType& t = ctx.in(0);
  if (!t.has_shape) return ctx.out_dtype(0, DType::s64);
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(t.shape.size())));
  Shape shape = t.shape;
  if (ctx.node.int_attr("keepdims", 1))
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  ctx.out(0, DType::s64, shape);
}

// The axis is mixed, not reduced, because the result is a place and depends on the order.
inline void axes_of_arg(AxesContext& ctx) {
  const int64_t axis[] = {
      normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(ctx.in(0).size()))};
  axes::remaining(ctx, 0, 0, axis, ctx.node.int_attr("keepdims", 1) != 0);
}

inline void lower_arg(LowerContext& ctx, bool smallest) {
  const Shape& shape = ctx.in_shape(0);
  const AxisSplit s = split_at(
      shape, normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(shape.size())));
  const DType t = ctx.in_dtype(0);
  const bool narrow = is_float(t) && t != DType::f32 && t != DType::f64;
  ctx.emit(calls::ArgExtreme{.outer = s.outer,
                             .n = s.n,
                             .inner = s.inner,
                             .smallest = smallest,
                             .last = ctx.node.int_attr("select_last_index", 0) != 0},
           {narrow ? in_as_f32(ctx, 0) : ctx.in(0), ctx.out(0)});
}

inline BoundResult bound_arg(BoundContext& ctx, bool smallest) {
  const Item x = ctx.in[0];
  if (!x.size) return {};
  BoundResult out = bound_reduced(ctx, {static_cast<int64_t>(ctx.axis_attr(0))},
                                  extreme(x.value->dtype(), smallest));
  if (out.size || ctx.node.int_attr("select_last_index", 0) == 0) return out;
  // Padding is selected only if every real element equals it. The last real one is then the result.
  out.after = [&build = ctx.build, size = x.size](ir::Value* place) {
    ir::Value* last =
        build.newest("Max", {build.newest("Sub", {size, build.integer(1)}), build.integer(0)});
    return build.newest("Min", {place, last});
  };
  return out;
}

}  // namespace poprt::ops
