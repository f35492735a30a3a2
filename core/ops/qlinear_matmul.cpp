// a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point.
#include "ops/common/integer_matmul.h"
#include "ops/common/quantization.h"

namespace poprt::ops {
namespace {

void lower(LowerContext& ctx) {
  const Shape& y = ctx.out_shape();
  const auto sums = ctx.temporary(DType::s32, y);
  lower_integer_matmul(ctx, 0, 3, 2, 5, sums);
  const int64_t columns = ctx.in_shape(3).size() > 1 ? y.back() : 1;
  const int64_t rows = ctx.in_shape(0).size() > 1 ? ctx.in_shape(0)[ctx.in_shape(0).size() - 2] : 1;
  const int64_t count = element_count(y);
  const auto per = [&](size_t i, int64_t wanted) {
    const int64_t found = element_count(ctx.in_shape(i));
    if (found != 1 && found != wanted)
      ctx.fail_unsupported("scale {} must have one element or {}", shape_string(ctx.in_shape(i)),
                           wanted);
    return found != 1;
  };
  emit_requantize(ctx, {.sums = sums,
                        .a_scale = ctx.in(1),
                        .b_scale = ctx.in(4),
                        .y_scale = ctx.in(6),
                        .y_zero = ctx.in(7),
                        .y = ctx.out(0),
                        .outer = count ? count / rows / columns : 0,
                        .rows = rows,
                        .columns = columns,
                        .a_by_row = per(1, rows),
                        .b_by_column = per(4, columns)});
}

}  // namespace

extern const OpDef qlinear_matmul_op;
const OpDef qlinear_matmul_op = {
    .name = "QLinearMatMul",
    .since = 10,
    .infer = [](InferContext& c) { infer_integer_matmul(c, 0, 3, c.in(7).dtype); },
    .lower = lower};

}  // namespace poprt::ops
