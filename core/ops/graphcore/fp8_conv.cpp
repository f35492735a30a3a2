// Inputs: X, W, scaleX, scaleW, B. FP8Conv relates to Conv as FP8MatMul relates to MatMul. PopRT's
// documents name the operator without its inputs; these are the inputs of FP8MatMul followed by the
// bias.
#include "ops/common/flops.h"
#include "ops/common/quarter_bytes.h"

POPRT_EXPANSION_WITH_FACTS(graphcore_fp8_conv_op, "ai.graphcore", "FP8Conv", expand_quarter_conv,
                           .layer = LayerForm::conv, .byte_weights = true, .weight_inputs = 0b10,
                           .flops = flops::conv_no_bias, .trial = {"T[1,4,4,4]; T[4,4,1,1]"})
