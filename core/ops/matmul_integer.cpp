#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/integer_matmul.h"
#include "ops/common/quantization.h"

namespace poprt::ops::matmul_integer_op {

namespace {

void map_axes(AxesContext& ctx) {
  axes::product(ctx, 0, 1);
  axes::product_rows(ctx, 2);
  axes::product_columns(ctx, 3);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "MatMulInteger",
                   .since = 10,
                   .infer =
                       [](InferContext& c) {
                         check_zero_point(c, 2, 0);
                         check_zero_point(c, 3, 1);
                         infer_integer_matmul(c, 0, 1, DType::s32);
                       },
                   .lower = [](LowerContext& c) { lower_integer_matmul(c, 0, 1, 2, 3, c.out(0)); },
                   .axes = map_axes,
                   .cost = cost::matmul,
                   .packs = 0b10,
                   .facts = {.flops = flops::product}};

}  // namespace poprt::ops::matmul_integer_op
