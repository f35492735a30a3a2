#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(tan, "Tan", 7, floating, .elementwise = step<ElementwiseOp::tan>)
