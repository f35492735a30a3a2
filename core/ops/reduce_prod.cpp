#include "ops/common/reduce.h"

POPRT_REDUCE_OP(reduce_prod, "ReduceProd", prod, .constant_inputs = 0b10,
                .monotone = Monotone::first, .monotone_from_zero = true, .neutral = 1)
