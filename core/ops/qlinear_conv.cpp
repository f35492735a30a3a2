// Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias (s32)?
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/integer_conv.h"

namespace poprt::ops::qlinear_conv_op {
namespace {

void lower(LowerContext& ctx) {
  const Shape& y = ctx.out_shape();
  const int64_t scales = element_count(ctx.in_shape(4));
  if (scales != 1 && scales != y[1])
    ctx.fail_unsupported("scale {} must have one element or {}", shape_string(ctx.in_shape(4)),
                         y[1]);
  lower_integer_conv(ctx, 0, 3, 2, 5, 8,
                     Requantize{.sums = LowerContext::kNone,
                                .a_scale = ctx.in(1),
                                .b_scale = ctx.in(4),
                                .y_scale = ctx.in(6),
                                .y_zero = ctx.in(7),
                                .y = ctx.out(0),
                                .outer = y[0],
                                .rows = y[1],
                                .columns = element_count(std::span(y).subspan(2)),
                                .b_by_row = scales != 1});
}

void map_axes(AxesContext& ctx) {
  axes::convolution(ctx, 0, 3);
  for (const size_t i : {4, 5, 8}) axes::per_channel(ctx, i);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "QLinearConv",
    .since = 10,
    .infer =
        [](InferContext& c) {
          check_zero_point(c, 2, 0);
          check_zero_point(c, 5, 3);
          infer_integer_conv(c, 0, 3, c.in(7).dtype);
        },
    .lower = lower,
    .axes = map_axes,
    .cost = cost::qlinear_conv,
    .packs = 0b1000,
    .facts = {.f32_inputs = ~0u,
              .flops = flops::qlinear_conv,
              .trial = {"T[1,4,4,4]; f32[]; T[]; T[4,4,1,1]; f32[]; T[]; f32[]; T[]"}}};

}  // namespace poprt::ops::qlinear_conv_op
