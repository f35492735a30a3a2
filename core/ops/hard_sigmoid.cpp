#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(hard_sigmoid, "HardSigmoid", 1, floating)
