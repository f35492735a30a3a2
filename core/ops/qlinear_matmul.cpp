// Inputs: a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point.
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/integer_matmul.h"
#include "ops/common/quantization.h"

namespace poprt::ops::qlinear_matmul_op {
namespace {

void lower(LowerContext& ctx) {
  const Shape& y = ctx.out_shape();
  const auto sums = ctx.temporary(DType::s32, y);
  lower_integer_matmul(ctx, 0, 3, 2, 5, sums);
  const int64_t columns = ctx.in_shape(3).size() > 1 ? y.back() : 1;
  const int64_t rows = ctx.in_shape(0).size() > 1 ? ctx.in_shape(0)[ctx.in_shape(0).size() - 2] : 1;
  const int64_t count = element_count(y);
  const Quantized a_by = quantized_by(ctx, 1, ctx.in_shape(0), rows),
                  b_by = quantized_by(ctx, 4, ctx.in_shape(3), columns);
  Requantize r = {.sums = sums,
                  .a_scale = ctx.in(1),
                  .b_scale = ctx.in(4),
                  .y_scale = ctx.in(6),
                  .y_zero = ctx.in(7),
                  .y = ctx.out(0),
                  .outer = count ? count / rows / columns : 0,
                  .rows = rows,
                  .columns = columns,
                  .a_by_row = a_by != Quantized::whole,
                  .b_by_column = b_by != Quantized::whole};
  if (a_by != Quantized::matrices && b_by != Quantized::matrices) return emit_requantize(ctx, r);
  // If scales differ between the matrices of a batch, each product is a separate kernel call.
  const auto scale = [&](size_t i, Quantized by, int64_t index, int64_t n) {
    if (by != Quantized::matrices) return ctx.in(i);
    const DType t = ctx.in_dtype(i);
    return ctx.view(ctx.in(i), dtype_bytes(t, index * n), t, {n});
  };
  r.outer = 1;
  int64_t first = 0;
  for (const MatrixPair& p : matrix_pairs(ctx, ctx.in_shape(0), ctx.in_shape(3))) {
    r.sums = ctx.view(sums, dtype_bytes(DType::s32, first), DType::s32, {rows, columns});
    r.y =
        ctx.view(ctx.out(0), dtype_bytes(ctx.out_dtype(), first), ctx.out_dtype(), {rows, columns});
    r.a_scale = scale(1, a_by, p.a, rows);
    r.b_scale = scale(4, b_by, p.b, columns);
    emit_requantize(ctx, r);
    first += rows * columns;
  }
}

void map_axes(AxesContext& ctx) {
  axes::product(ctx, 0, 3);
  for (const size_t i : {1, 2}) axes::product_rows(ctx, i);
  for (const size_t i : {4, 5}) axes::product_columns(ctx, i);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "QLinearMatMul",
                   .since = 10,
                   .infer =
                       [](InferContext& c) {
                         check_zero_point(c, 2, 0);
                         check_zero_point(c, 5, 3);
                         infer_integer_matmul(c, 0, 3, c.in(7).dtype);
                       },
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::qlinear_matmul,
                   .packs = 0b1000,
                   .facts = {.f32_inputs = ~0u,
                             .flops = flops::product,
                             .trial = {"T[4,4]; f32[]; T[]; T[4,4]; f32[]; T[]; f32[]; T[]"}}};

}  // namespace poprt::ops::qlinear_matmul_op
