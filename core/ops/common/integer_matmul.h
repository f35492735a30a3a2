// MatMulInteger and QLinearMatMul.
#pragma once

#include "ops/op.h"

namespace poprt::ops {

// The product's shape (NumPy rules) of inputs a and b.
void infer_integer_matmul(InferContext& ctx, size_t a, size_t b, DType result);

// Emits the s32 products of inputs a and b with zero points a_zero and b_zero (inputs, may be
// omitted) into `sums`.
void lower_integer_matmul(LowerContext& ctx, size_t a, size_t b, size_t a_zero, size_t b_zero,
                          program::BufferId sums);

}  // namespace poprt::ops
