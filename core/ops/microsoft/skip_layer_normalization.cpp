// Inputs: input, skip, gamma, beta?, bias?
#include "ops/common/skip_normalization.h"

POPRT_EXPANSION_WITH_FACTS(
    microsoft_skip_layer_normalization_op, "com.microsoft", "SkipLayerNormalization",
    [](Expansion& e) {
      expand_skip_normalization(e, "LayerNormalization", e.in_or_null(3), e.in_or_null(4));
    },
    .trial = {"T[1,4,4]; T[1,4,4]; T[4]"})
