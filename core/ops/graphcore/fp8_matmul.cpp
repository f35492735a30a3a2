// Inputs: A, B, scaleA, scaleB. Bytes contain 8-bit floats.
#include "ops/common/flops.h"
#include "ops/common/quarter_bytes.h"

POPRT_EXPANSION_WITH_FACTS(graphcore_fp8_matmul_op, "ai.graphcore", "FP8MatMul",
                           expand_quarter_matmul, .layer = LayerForm::matmul, .byte_weights = true,
                           .weight_inputs = 0b10, .flops = flops::product)
