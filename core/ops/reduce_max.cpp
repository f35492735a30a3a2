#include <cmath>

#include "ops/common/reduce.h"

POPRT_REDUCE_OP(reduce_max, "ReduceMax", max, .narrows = true, .constant_inputs = 0b10,
                .s64_inputs = ~0b1u, .monotone = Monotone::first, .neutral = -INFINITY)
