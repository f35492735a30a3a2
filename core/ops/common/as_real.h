// Helpers for kernels that compute in f32 and in f64 (for f32 only see as_f32.h). Other float
// inputs are converted in a temporary, and results are converted back.
#pragma once

#include "kernels/calls/cast.h"
#include "ops/op.h"

namespace poprt::ops {

inline LowerContext::BufferId in_as(LowerContext& ctx, size_t i, DType type) {
  if (!ctx.has(i)) return LowerContext::kNone;
  const auto from = ctx.in(i);
  if (ctx.in_dtype(i) == type) return from;
  const auto to = ctx.temporary(type, ctx.in_shape(i));
  ctx.emit(calls::Cast{}, {from, to});
  return to;
}

// A buffer of `type` for output i (kNone if the output is not read). finish_as converts it.
inline LowerContext::BufferId out_as(LowerContext& ctx, size_t i, DType type) {
  if (i >= ctx.node.outputs().size()) return LowerContext::kNone;
  const auto out = ctx.out(i);
  if (out == LowerContext::kNone || ctx.out_dtype(i) == type) return out;
  return ctx.temporary(type, ctx.out_shape(i));
}

inline void finish_as(LowerContext& ctx, size_t i, LowerContext::BufferId place, DType type) {
  if (place == LowerContext::kNone || ctx.out_dtype(i) == type) return;
  ctx.emit(calls::Cast{}, {place, ctx.out(i)});
}

// The type in which a kernel with builds for f32 and f64 computes: f64 if input 0 is f64, else f32.
inline DType real_type(const LowerContext& ctx) {
  return ctx.in_dtype(0) == DType::f64 ? DType::f64 : DType::f32;
}

}  // namespace poprt::ops
