// Lowering shared by MatMul, Gemm and Linear.
#pragma once

#include "ops/bound.h"
#include "ops/common/fused_activation.h"
#include "ops/op.h"

namespace poprt::ops {

// c[M,N] = act(a[M,K] * B + bias + residual) with a constant B, all f32. With `residual_after`, the
// residual is added after the activation.
struct PackedMatmul {
  int64_t m = 0, n = 0, k = 0;
  program::BufferId a = program::kNoBuffer;
  Tensor b;  // element (k, n) is at k * b_k + n * b_n
  int64_t b_k = 0, b_n = 0;
  float b_scale = 1;
  program::BufferId panels = program::kNoBuffer;  // B packed by pack_panels(), instead of b
  Tensor bias;  // [N], [1,N], [1] or scalar; undefined if there is none
  float bias_scale = 1;
  program::BufferId residual = program::kNoBuffer;  // [M,N]
  bool residual_after = false;
  FusedActivation activation;
  program::BufferId c = program::kNoBuffer;
  // A batch of products with one matrix of b, [batch,K,N], each; bias and residual are not used.
  int64_t batch = 1;
  int64_t a_stride = 0;  // elements between the matrices a, or 0 if all have the same
};
// Packs a [k, n] matrix of any form into panels of 48 columns (kernels/common/pack_matmul.h). The
// matrices of a batch follow each other.
program::BufferId pack_panels(LowerContext& ctx, int64_t k, int64_t n,
                              const program::WeightForm& form, int64_t batch = 1);
// Packs the transpose of `table`, an f32 matrix [n, k], as a product with it does.
program::BufferId pack_table(LowerContext& ctx, const Tensor& table);
void lower_packed_matmul(LowerContext& ctx, const PackedMatmul& matmul);

// out[batch..., M, N] = alpha * a * b + beta * c for any numeric dtype. Strides are in elements, so
// that transposed and broadcast operands need no copy.
struct StridedMatmul {
  DType dtype = DType::undefined;
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_k = 0, b_k = 0, b_n = 0;
  struct Batch {
    int64_t count, a_stride, b_stride;
  };
  std::vector<Batch> batch;
  int64_t c_row = 0, c_n = 0;
  float alpha = 1, beta = 1;
  program::BufferId a = program::kNoBuffer, b = program::kNoBuffer, c = program::kNoBuffer,
                    out = program::kNoBuffer;
};
void lower_strided_matmul(LowerContext& ctx, const StridedMatmul& matmul);

// Padding along the summed axis is filled with zeros; a size along another axis is kept. `gemm`
// selects Gemm instead of MatMul.
BoundResult bound_product(BoundContext& ctx, bool gemm);

}  // namespace poprt::ops
