#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(acos, "Acos", 7, floating, .elementwise = step<ElementwiseOp::acos>)
