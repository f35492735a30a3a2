#include "kernels/calls/matmul.h"
#include "kernels/calls/matmul_dynamic.h"
#include "kernels/calls/matmul_generic.h"
#include "ops/common/matmul.h"

#include <array>

#include "base/checked.h"
#include "kernels/common/pack_matmul.h"
#include "ops/common/movement.h"
#include "ops/common/packed_bias.h"

namespace poprt::ops {

namespace {

struct MatmulPanels {
  int64_t k, n, b_k, b_n;
  float scale;
  bool operator==(const MatmulPanels&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    kernels::pack_matmul(from[0].values<float>(), b_k, b_n, k, n, scale,
                         program::as_array<float>(to));
  }
};

}  // namespace

program::BufferId pack_panels(LowerContext& ctx, int64_t k, int64_t n,
                              const program::WeightForm& form) {
  return ctx.pack(DType::f32, {kernels::matmul_panels(n), k, kernels::kMatmulPanel}, form);
}

void lower_packed_matmul(LowerContext& ctx, const PackedMatmul& p) {
  const int64_t columns = checked_mul(kernels::matmul_panels(p.n), kernels::kMatmulPanel);
  const auto b =
      p.panels != program::kNoBuffer
          ? p.panels
          : pack_panels(ctx, p.k, p.n, {{p.b}, MatmulPanels{p.k, p.n, p.b_k, p.b_n, p.b_scale}});
  const auto bias =
      p.bias.defined() ? pack_bias(ctx, p.bias, p.n, columns, p.bias_scale) : LowerContext::kNone;
  ctx.emit(
      calls::Matmul{
          .m = p.m, .n = p.n, .k = p.k, .epilogue = epilogue_of(p.activation, p.residual_after)},
      {p.a, b, bias, p.residual, p.c});
}

void lower_strided_matmul(LowerContext& ctx, const StridedMatmul& given) {
  StridedMatmul p = given;
  if (p.dtype == DType::f32 && p.batch.empty() && p.a_k != 1 && p.m > 0 && p.k > 0) {
    // The fast kernel reads rows of a.
    StridedCopy copy;
    copy.dims = {p.m, p.k};
    copy.from_strides = {p.a_row, p.a_k};
    copy.to_strides = {p.k, 1};
    const auto rows = ctx.temporary(DType::f32, copy.dims);
    emit_strided_copy(ctx, p.a, rows, DType::f32, copy);
    p.a = rows;
    p.a_row = p.k;
    p.a_k = 1;
  }
  calls::StridedProduct product{.m = p.m,
                                .n = p.n,
                                .k = p.k,
                                .a_row = p.a_row,
                                .a_k = p.a_k,
                                .b_k = p.b_k,
                                .b_n = p.b_n,
                                .c_row = p.c_row,
                                .c_n = p.c_n,
                                .batch = {},
                                .alpha = p.alpha,
                                .beta = p.beta};
  for (const auto& d : p.batch)
    product.batch.push_back({.count = d.count, .a = d.a_stride, .b = d.b_stride});
  const std::array<program::BufferId, 4> operands = {p.a, p.b, p.c, p.out};
  if (p.dtype == DType::f32 && p.a_k == 1)
    ctx.emit(calls::MatmulDynamic{product}, operands);
  else
    ctx.emit(calls::MatmulGeneric{product}, operands);
}

}  // namespace poprt::ops
