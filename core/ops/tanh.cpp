#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(tanh, "Tanh", 1, floating)
