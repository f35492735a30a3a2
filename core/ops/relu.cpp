#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(relu, "Relu", 1, numeric)
