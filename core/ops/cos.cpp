#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(cos, "Cos", 7, floating, .elementwise = step<ElementwiseOp::cos>)
