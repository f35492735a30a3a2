#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/integer_conv.h"

namespace poprt::ops::conv_integer_op {

namespace {

void map_axes(AxesContext& ctx) {
  axes::convolution(ctx, 0, 1);
  axes::per_channel(ctx, 3);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ConvInteger",
                   .since = 10,
                   .infer =
                       [](InferContext& c) {
                         check_zero_point(c, 2, 0);
                         check_zero_point(c, 3, 1);
                         infer_integer_conv(c, 0, 1, DType::s32);
                       },
                   .lower = [](LowerContext& c) { lower_integer_conv(c, 0, 1, 2, 3, SIZE_MAX); },
                   .axes = map_axes,
                   .cost = cost::conv,
                   .packs = 0b10,
                   .facts = {.flops = flops::conv_no_bias, .trial = {"T[1,4,4,4]; T[4,4,1,1]"}}};

}  // namespace poprt::ops::conv_integer_op
