#include "ops/common/reduce.h"

POPRT_REDUCE_OP(reduce_mean, "ReduceMean", mean, .constant_inputs = 0b10,
                .monotone = Monotone::first)
