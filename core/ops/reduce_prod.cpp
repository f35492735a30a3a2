#include "ops/common/reduce.h"

POPRT_REDUCE_OP(reduce_prod, "ReduceProd", prod)
