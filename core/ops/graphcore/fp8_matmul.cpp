// A, B, scaleA, scaleB: bytes are quarter numbers.
#include "ops/common/quarter_bytes.h"

POPRT_EXPANSION(graphcore_fp8_matmul_op, "ai.graphcore", "FP8MatMul", expand_quarter_matmul)
