// MatMulInteger and QLinearMatMul.
#pragma once

#include <optional>

#include "ops/op.h"

namespace poprt::ops {

// Infers the shape of the product of inputs a and b (NumPy rules).
void infer_integer_matmul(InferContext& ctx, size_t a, size_t b, DType result);

// The matrix of a and the matrix of b of each product of the batch.
struct MatrixPair {
  int64_t a = 0, b = 0;
};
std::vector<MatrixPair> matrix_pairs(LowerContext& ctx, const Shape& a, const Shape& b);

// How input i, a zero point or scale of matrices of shape `of`, applies to their rows (a) or
// columns (b), of which there are `count`: one element for all, one for each, or one for each row
// or column of each matrix ([..., M, 1] or [..., 1, N]).
enum class Quantized { whole, lines, matrices };
Quantized quantized_by(const LowerContext& ctx, size_t i, const Shape& of, int64_t count);

// Converts sums to f32: multiplies by a_scale (one number) and b_scale (constant; one number or one
// for each column) and adds a bias for each column, unless it is kNone.
struct SumScale {
  program::BufferId a_scale, b_scale, bias;
};

// Emits the s32 products of inputs a and b with zero points a_zero and b_zero (inputs that may be
// omitted) into `sums`. With `scale` the result is f32; then b must be constant and symmetric
// (b_zero is ignored) and a_zero one number.
void lower_integer_matmul(LowerContext& ctx, size_t a, size_t b, size_t a_zero, size_t b_zero,
                          program::BufferId sums, std::optional<SumScale> scale = std::nullopt);

}  // namespace poprt::ops
