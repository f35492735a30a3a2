#include "ops/common/fused_matmul.h"

POPRT_EXPANSION(microsoft_transpose_matmul_op, "com.microsoft", "TransposeMatMul",
                expand_fused_matmul)
