// A, B, scaleA, scaleB: bytes are quarter numbers.
#include "ops/common/quarter_bytes.h"

POPRT_EXPANSION(graphcore_fp8_matmul_without_shape_infer_op, "ai.graphcore",
                "FP8MatMulWithoutShapeInfer", expand_quarter_matmul)
