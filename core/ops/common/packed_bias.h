// The bias of products and convolutions in the layout of their kernels.
#pragma once

#include "ops/op.h"

namespace poprt::ops {

// `scale` times one f32 number for each of `n` columns, or one for all of them, with zeros up to
// `padded`. Throws invalid_argument if the bias has another type or number of elements.
program::BufferId pack_bias(LowerContext& ctx, const Tensor& bias, int64_t n, int64_t padded,
                            float scale = 1);

}  // namespace poprt::ops
