#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(sinh, "Sinh", 9, floating, .elementwise = step<ElementwiseOp::sinh>)
