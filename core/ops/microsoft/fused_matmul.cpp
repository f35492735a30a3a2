#include "ops/common/fused_matmul.h"

POPRT_EXPANSION(microsoft_fused_matmul_op, "com.microsoft", "FusedMatMul", expand_fused_matmul)
