// For kernels that compute in f32 only: other float inputs are widened (f64 narrowed) into a
// temporary, results rounded back.
#pragma once

#include "ops/op.h"

namespace poprt::ops {

inline LowerContext::BufferId in_as_f32(LowerContext& ctx, size_t i) {
  if (!ctx.has(i)) return LowerContext::kNone;
  const auto from = ctx.in(i);
  if (ctx.in_dtype(i) == DType::f32) return from;
  const auto to = ctx.temporary(DType::f32, ctx.in_shape(i));
  ctx.emit("cast", {from, to}, {1});
  return to;
}

// An f32 place for output i (kNone when nothing reads it); finish_f32 converts it.
inline LowerContext::BufferId out_as_f32(LowerContext& ctx, size_t i) {
  if (i >= ctx.node.outputs().size()) return LowerContext::kNone;
  const auto out = ctx.out(i);
  if (out == LowerContext::kNone || ctx.out_dtype(i) == DType::f32) return out;
  return ctx.temporary(DType::f32, ctx.out_shape(i));
}

inline void finish_f32(LowerContext& ctx, size_t i, LowerContext::BufferId place) {
  if (place == LowerContext::kNone || ctx.out_dtype(i) == DType::f32) return;
  ctx.emit("cast", {place, ctx.out(i)}, {1});
}

}  // namespace poprt::ops
