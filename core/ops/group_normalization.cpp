#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/normalization.h"

namespace poprt::ops::group_normalization_op {
namespace {

// Opset 18 has one scale for each group, opset 21 one for each channel. The two agree if both
// counts are equal.
void lower(LowerContext& ctx) {
  const int64_t groups = ctx.node.int_attr("num_groups", 0);
  lower_channel_norm(ctx, groups, ctx.opset() >= 21 || element_count(ctx.in_shape(1)) != groups);
}

void map_axes(AxesContext& ctx) { axes_of_channel_norm(ctx, ctx.node.int_attr("num_groups", 0)); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "GroupNormalization",
                   .since = 18,
                   .infer = [](InferContext& c) { c.out(0, c.in(0)); },
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::instance_normalization,
                   .sharing = {.in_place = 1},
                   .facts = {.weight_inputs = 0b110,
                             .flops = flops::normalization,
                             .trial = {"T[1,4,4,4]; T[4]; T[4]", "num_groups = 2"}}};

}  // namespace poprt::ops::group_normalization_op
