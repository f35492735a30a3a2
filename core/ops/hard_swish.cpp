#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(hard_swish, "HardSwish", 14, floating)
