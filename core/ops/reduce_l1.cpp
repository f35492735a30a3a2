#include "ops/common/reduce.h"

POPRT_REDUCE_OP(reduce_l1, "ReduceL1", l1, .constant_inputs = 0b10, .neutral = 0)
