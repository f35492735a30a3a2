#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/normalization.h"

namespace poprt::ops::layer_normalization_op {

extern const OpDef def;
const OpDef def = {.name = "LayerNormalization",
                   .since = 1,
                   .infer = infer_layer_norm,
                   .lower = [](LowerContext& c) { lower_layer_norm(c, false); },
                   .axes = axes_of_layer_norm,
                   .cost = cost::layer_normalization,
                   .sharing = {.in_place = 1},
                   .facts = {.weight_inputs = 0b110,
                             .flops = flops::normalization,
                             .trial = {"T[4,4]; T[4]", "axis = -1"}},
                   .bound = bound_layer_norm};

}  // namespace poprt::ops::layer_normalization_op
