// ConvInteger and QLinearConv.
#pragma once

#include <optional>

#include "ops/common/quantization.h"
#include "ops/op.h"

namespace poprt::ops {

void infer_integer_conv(InferContext& ctx, size_t x, size_t w, DType result);

// Emits the convolution of inputs x and w. Zero points and bias are inputs and may be omitted;
// `bias` is SIZE_MAX if the operator has none. Output 0 receives the s32 sums or, with `result`,
// the sums requantised with its scales and zero point (result.sums is ignored).
void lower_integer_conv(LowerContext& ctx, size_t x, size_t w, size_t x_zero, size_t w_zero,
                        size_t bias, std::optional<Requantize> result = std::nullopt);

}  // namespace poprt::ops
