#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(mul, "Mul", 1, numeric)
