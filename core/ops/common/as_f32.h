// Helpers for kernels that compute in f32 only. Other float inputs are converted to f32 in a
// temporary (f64 is narrowed), and results are converted back.
#pragma once

#include "ops/common/as_real.h"

namespace poprt::ops {

inline LowerContext::BufferId in_as_f32(LowerContext& ctx, size_t i) {
  return in_as(ctx, i, DType::f32);
}

// A buffer of f32 for output i (kNone if the output is not read). finish_f32 converts it.
inline LowerContext::BufferId out_as_f32(LowerContext& ctx, size_t i) {
  return out_as(ctx, i, DType::f32);
}

inline void finish_f32(LowerContext& ctx, size_t i, LowerContext::BufferId place) {
  finish_as(ctx, i, place, DType::f32);
}

}  // namespace poprt::ops
