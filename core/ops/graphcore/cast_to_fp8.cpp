// Inputs: data, scale. The output is 8-bit floats, stored in bytes.
#include "ops/common/quarter_bytes.h"

POPRT_EXPANSION_WITH_FACTS(graphcore_cast_to_fp8_op, "ai.graphcore", "CastToFP8",
                           expand_cast_to_quarter, .cast = CastForm::to_quarter)
