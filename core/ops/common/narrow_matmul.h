// Lowering of products whose constant weights are stored in less than 32 bits.
#pragma once

#include "kernels/calls/matmul_narrow.h"
#include "kernels/common/pack_narrow.h"
#include "ops/common/fused_activation.h"
#include "ops/op.h"

namespace poprt::ops {

// c[M,N] = act(a[M,K] * B + bias + residual). The elements of B are (q - zero point) * scale with
// the integers q of `b`. If `b` is f16, bf16 or f8_143, they are its numbers, times the scales if
// there are any.
struct NarrowMatmul {
  int64_t m = 0;
  kernels::NarrowMatrix matrix;  // of b
  Tensor b;
  // One number, or one for each column and block of `block` values of k. Floats have one block.
  Tensor scales, zeros;                        // f32; any integers or undefined
  int64_t scale_by_block = 0, scale_by_n = 0;  // strides, for zeros as well
  int64_t block = 0;                           // 0: all of K
  int64_t zero = 0;                            // the zero point if there are no `zeros`
  // The rounding of rows of a that kernels may apply.
  calls::NarrowProducts products = calls::NarrowProducts::f32;
  program::BufferId a = program::kNoBuffer, residual = program::kNoBuffer, c = program::kNoBuffer;
  Tensor bias;
  bool residual_after = false;
  FusedActivation activation;
};

// The form of weights of this type, or nothing if no kernel reads them.
std::optional<kernels::isa::NarrowFormat> narrow_format(DType dtype);
// Whether a kernel reads integers of this type in blocks of `block` values of k (0: all of K).
bool is_narrow_block(DType dtype, int64_t block);

// f32 weights in the narrowest type that represents them exactly. If this is an 8-bit float, the
// weights are `values` times `scale`.
struct NarrowNumbers {
  Tensor values;
  float scale = 1;
};
std::optional<NarrowNumbers> narrow_numbers(const Tensor& weights);

// Packs the matrix of `b` as a product with it does.
program::BufferId pack_narrow_panels(LowerContext& ctx, const Tensor& b,
                                     const kernels::NarrowMatrix& matrix);
void lower_narrow_matmul(LowerContext& ctx, const NarrowMatmul& matmul);

}  // namespace poprt::ops
