// Inputs: A, B, scaleA, scaleB. Bytes contain 8-bit floats.
#include "ops/common/flops.h"
#include "ops/common/quarter_bytes.h"

POPRT_EXPANSION_WITH_FACTS(graphcore_fp8_matmul_without_shape_infer_op, "ai.graphcore",
                           "FP8MatMulWithoutShapeInfer", expand_quarter_matmul,
                           .flops = flops::product)
