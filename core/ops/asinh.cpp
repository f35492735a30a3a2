#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(asinh, "Asinh", 9, floating, .elementwise = step<ElementwiseOp::asinh>)
