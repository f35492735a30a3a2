#include "ops/common/reduce.h"

POPRT_REDUCE_OP(reduce_l2, "ReduceL2", l2, .constant_inputs = 0b10, .neutral = 0)
