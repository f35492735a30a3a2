#include "ops/common/reduce.h"

POPRT_REDUCE_OP(reduce_log_sum, "ReduceLogSum", log_sum, .constant_inputs = 0b10, .neutral = 0)
