// MatMulInteger and QLinearMatMul.
#pragma once

#include <optional>

#include "ops/op.h"

namespace poprt::ops {

// The product's shape (NumPy rules) of inputs a and b.
void infer_integer_matmul(InferContext& ctx, size_t a, size_t b, DType result);

// Which matrix of a meets which of b in each product of the batch.
struct MatrixPair {
  int64_t a = 0, b = 0;
};
std::vector<MatrixPair> matrix_pairs(LowerContext& ctx, const Shape& a, const Shape& b);

// How input i, a zero point or scale of matrices of shape `of`, lies over their rows (a) or columns
// (b), `count` of them: one element, one for each, or that for each matrix ([..., M, 1] or
// [..., 1, N]).
enum class Quantized { whole, lines, matrices };
Quantized quantized_by(const LowerContext& ctx, size_t i, const Shape& of, int64_t count);

// What makes f32 of sums: their product with a_scale (one number) and b_scale (one or one for each
// column, constant), and then a bias for each column, or kNone.
struct SumScale {
  program::BufferId a_scale, b_scale, bias;
};

// Emits the s32 products of inputs a and b with zero points a_zero and b_zero (inputs, may be
// omitted) into `sums`. With `scale` the result is f32; b must be constant and symmetric then
// (b_zero is not read) and a_zero one number.
void lower_integer_matmul(LowerContext& ctx, size_t a, size_t b, size_t a_zero, size_t b_zero,
                          program::BufferId sums, std::optional<SumScale> scale = std::nullopt);

}  // namespace poprt::ops
