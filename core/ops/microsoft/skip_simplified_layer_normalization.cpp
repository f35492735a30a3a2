// Inputs: input, skip, gamma, bias?
#include "ops/common/skip_normalization.h"

POPRT_EXPANSION_WITH_FACTS(
    microsoft_skip_simplified_layer_normalization_op, "com.microsoft",
    "SkipSimplifiedLayerNormalization",
    [](Expansion& e) {
      expand_skip_normalization(e, "SimplifiedLayerNormalization", nullptr, e.in_or_null(3));
    },
    .trial = {"T[1,4,4]; T[1,4,4]; T[4]"})
