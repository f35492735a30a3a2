// ConvInteger and QLinearConv.
#pragma once

#include "ops/op.h"

namespace poprt::ops {

void infer_integer_conv(InferContext& ctx, size_t x, size_t w, DType result);

// Emits the s32 convolution of inputs x and w; zero points and bias are inputs and may be omitted
// (bias: no such input for SIZE_MAX).
void lower_integer_conv(LowerContext& ctx, size_t x, size_t w, size_t x_zero, size_t w_zero,
                        size_t bias, program::BufferId sums);

}  // namespace poprt::ops
