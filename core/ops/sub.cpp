#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(sub, "Sub", 1, numeric)
