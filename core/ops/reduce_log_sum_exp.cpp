#include <cmath>

#include "ops/common/reduce.h"

POPRT_REDUCE_OP(reduce_log_sum_exp, "ReduceLogSumExp", log_sum_exp, .constant_inputs = 0b10,
                .neutral = -INFINITY)
