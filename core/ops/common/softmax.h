// Softmax, LogSoftmax and Hardmax. Below opset 13 the input is coerced to two dimensions at `axis`
// (default 1); from 13 on only the axis (default -1) is normalised. The computation is in f32, or
// in f64 for f64 input.
#pragma once

#include "kernels/calls/softmax.h"
#include "ops/bound.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"

namespace poprt::ops {

// The axes [first, last) of a tensor of that rank over which the node normalises.
struct NormalizedAxes {
  int64_t first = 0, last = 0;
};
inline NormalizedAxes normalized_axes(const ir::Node& node, int64_t rank) {
  const bool coerced = node.opset() < 13;
  const int64_t given = node.int_attr("axis", coerced ? 1 : -1);
  if (rank == 0) return {};
  const int64_t axis = coerced && given == rank ? rank : normalize_axis(given, rank);
  return {axis, coerced ? rank : axis + 1};
}

inline void axes_of_softmax(AxesContext& ctx) {
  const auto rank = static_cast<int64_t>(ctx.in(0).size());
  const NormalizedAxes mixed = normalized_axes(ctx.node, rank);
  axes::range(ctx, 0, 0, static_cast<size_t>(mixed.first), 0, 0);
  axes::range(ctx, 0, static_cast<size_t>(mixed.last), static_cast<size_t>(rank), 0,
              static_cast<size_t>(mixed.last));
}

inline void infer_softmax(InferContext& ctx) {
  const ir::ValueType& t = ctx.in(0);
  if (t.dtype != DType::undefined && !is_float(t.dtype))
    ctx.fail_input("input 0 is {}, expected a float type", dtype_name(t.dtype));
  if (t.has_shape) normalized_axes(ctx.node, static_cast<int64_t>(t.shape.size()));
  ctx.out(0, t);
}

inline void lower_softmax(LowerContext& ctx, calls::SoftmaxMode mode) {
  const Shape& shape = ctx.in_shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  const NormalizedAxes axes = normalized_axes(ctx.node, rank);
  int64_t outer = 1, n = 1, inner = 1;
  for (int64_t d = 0; d < rank; d++) {
    const int64_t size = shape[static_cast<size_t>(d)];
    (d < axes.first ? outer : d < axes.last ? n : inner) *= size;
  }
  const DType t = real_type(ctx);
  const auto y = out_as(ctx, 0, t);
  ctx.emit(calls::Softmax{.outer = outer, .n = n, .inner = inner, .mode = mode},
           {in_as(ctx, 0, t), y});
  finish_as(ctx, 0, y, t);
}

inline BoundResult bound_softmax(BoundContext& ctx) {
  const Item x = ctx.in[0];
  const auto rank = static_cast<int64_t>(x.value->shape().size());
  const NormalizedAxes axes = normalized_axes(ctx.node, rank);
  for (auto d = static_cast<size_t>(axes.first); d < static_cast<size_t>(axes.last); d++)
    if (x.sized_along(d)) {
      Item along = x.along(d);
      along.value = ctx.in[0].value;
      ctx.in[0].value = ctx.filled(along, extreme(x.value->dtype(), false));
    }
  return {x.size, x.axis, x.twin};
}

#define POPRT_SOFTMAX_OP(symbol, op_name, mode)                                  \
  namespace poprt::ops::symbol##_op {                                            \
    extern const OpDef def;                                                      \
    const OpDef def = {.name = op_name,                                          \
                       .infer = infer_softmax,                                   \
                       .lower = [](LowerContext& c) { lower_softmax(c, mode); }, \
                       .axes = axes_of_softmax,                                  \
                       .cost = cost::softmax,                                    \
                       .sharing = {.in_place = 1},                               \
                       .facts = {.bounds_twins = true, .flops = flops::softmax}, \
                       .bound = bound_softmax};                                  \
  }

}  // namespace poprt::ops
