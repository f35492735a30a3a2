// Some exporters use this domain for the operator, which ONNX Runtime defines in ai.onnx.
#include "ops/common/cost.h"
#include "ops/common/normalization.h"

namespace poprt::ops::microsoft_simplified_layer_normalization_op {

extern const OpDef def;
const OpDef def = {.name = "SimplifiedLayerNormalization",
                   .domain = "com.microsoft",
                   .infer = infer_layer_norm,
                   .lower = [](LowerContext& c) { lower_layer_norm(c, true); },
                   .axes = axes_of_layer_norm,
                   .cost = cost::rms_normalization,
                   .sharing = {.in_place = 1},
                   .facts = {.trial = {"T[4,4]; T[4]", "axis = -1"}}};

}  // namespace poprt::ops::microsoft_simplified_layer_normalization_op
