#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/normalization.h"

namespace poprt::ops::rms_normalization_op {

extern const OpDef def;
const OpDef def = {
    .name = "RMSNormalization",
    .since = 23,
    .infer = infer_layer_norm,
    .lower = [](LowerContext& c) { lower_layer_norm(c, true); },
    .axes = axes_of_layer_norm,
    .cost = cost::rms_normalization,
    .sharing = {.in_place = 1},
    .facts = {.weight_inputs = 0b10, .flops = flops::normalization, .trial = {"T[4,4]; T[4]"}},
    .bound = bound_layer_norm};

}  // namespace poprt::ops::rms_normalization_op
