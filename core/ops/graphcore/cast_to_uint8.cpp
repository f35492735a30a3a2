// Inputs: data, scale. The output is 8-bit floats, stored in bytes.
#include "ops/common/quarter_bytes.h"

POPRT_EXPANSION(graphcore_cast_to_uint8_op, "ai.graphcore", "CastToUint8", expand_cast_to_quarter)
