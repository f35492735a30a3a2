#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(sigmoid, "Sigmoid", 1, floating)
