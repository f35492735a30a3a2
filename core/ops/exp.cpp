#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(exp, "Exp", 1, floating, .elementwise = step<ElementwiseOp::exp>)
