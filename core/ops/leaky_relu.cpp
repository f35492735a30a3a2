#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(leaky_relu, "LeakyRelu", 1, floating)
