// poprt.ScaledMatMulInteger: MatMulInteger(A, B, zero points) * (a_scale * b_scale) + bias in f32.
//
// Inputs: A, B (constant [K, N]), a_zero_point?, b_zero_point?, a_scale, b_scale (constant), bias?
// (constant [N]). B is symmetric. a_scale and a_zero_point are one number; b_scale is one number,
// or one for each column.
#include "ops/common/axes.h"
#include "ops/common/integer_matmul.h"

namespace poprt::ops::poprt_scaled_matmul_integer_op {
namespace {

void lower(LowerContext& ctx) {
  if (element_count(ctx.out_shape()) == 0) return;
  lower_integer_matmul(
      ctx, 0, 1, 2, 3, ctx.out(0),
      SumScale{ctx.in(4), ctx.in(5), ctx.has(6) ? ctx.in(6) : LowerContext::kNone});
}

void map_axes(AxesContext& ctx) {
  axes::product(ctx, 0, 1);
  axes::product_rows(ctx, 2);
  axes::product_rows(ctx, 4);
  for (const size_t i : {3, 5, 6}) axes::product_columns(ctx, i);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ScaledMatMulInteger",
                   .domain = "poprt",
                   .infer = [](InferContext& c) { infer_integer_matmul(c, 0, 1, DType::f32); },
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.trial = {"T[4,4]; s8[4,4]; T[]; s8[] = 0; f32[]; f32[1]"}}};

}  // namespace poprt::ops::poprt_scaled_matmul_integer_op
