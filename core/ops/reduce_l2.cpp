#include "ops/common/reduce.h"

POPRT_REDUCE_OP(reduce_l2, "ReduceL2", l2)
