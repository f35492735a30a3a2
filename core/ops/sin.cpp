#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(sin, "Sin", 7, floating, .elementwise = step<ElementwiseOp::sin>)
