#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/normalization.h"

namespace poprt::ops::instance_normalization_op {

extern const OpDef def;
const OpDef def = {
    .name = "InstanceNormalization",
    .since = 1,
    .infer = [](InferContext& c) { c.out(0, c.in(0)); },
    .lower = [](LowerContext& c) { lower_channel_norm(c, c.in_shape(0).at(1), true); },
    .axes = [](AxesContext& c) { axes_of_channel_norm(c, c.in(0).at(1)); },
    .cost = cost::instance_normalization,
    .sharing = {.in_place = 1},
    .facts = {.weight_inputs = 0b110, .flops = flops::normalization}};

}  // namespace poprt::ops::instance_normalization_op
