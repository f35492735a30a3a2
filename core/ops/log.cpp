#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(log, "Log", 1, floating, .elementwise = step<ElementwiseOp::log>)
