#include "ops/common/reduce.h"

POPRT_REDUCE_OP(reduce_sum_square, "ReduceSumSquare", sum_square, .constant_inputs = 0b10,
                .neutral = 0)
