#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(swish, "Swish", 24, floating)
