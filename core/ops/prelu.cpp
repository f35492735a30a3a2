#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(prelu, "PRelu", 1, numeric)
