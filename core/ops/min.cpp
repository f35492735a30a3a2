#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(min, "Min", 1, numeric)
