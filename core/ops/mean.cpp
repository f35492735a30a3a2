#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(mean, "Mean", 1, floating)
