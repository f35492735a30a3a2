// CastToUint8 under the name that PopTransformer uses.
#include "ops/common/quarter_bytes.h"

POPRT_EXPANSION(graphcore_cast_to_uint8_without_shape_infer_op, "ai.graphcore",
                "CastToUint8WithoutShapeInfer", expand_cast_to_quarter)
