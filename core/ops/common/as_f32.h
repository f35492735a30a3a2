// For kernels that compute in f32 only: other float inputs are widened (f64 narrowed) into a
// temporary, results rounded back.
#pragma once

#include "ops/common/as_real.h"

namespace poprt::ops {

inline LowerContext::BufferId in_as_f32(LowerContext& ctx, size_t i) {
  return in_as(ctx, i, DType::f32);
}

// An f32 place for output i (kNone when nothing reads it); finish_f32 converts it.
inline LowerContext::BufferId out_as_f32(LowerContext& ctx, size_t i) {
  return out_as(ctx, i, DType::f32);
}

inline void finish_f32(LowerContext& ctx, size_t i, LowerContext::BufferId place) {
  finish_as(ctx, i, place, DType::f32);
}

}  // namespace poprt::ops
