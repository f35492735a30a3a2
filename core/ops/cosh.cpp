#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(cosh, "Cosh", 9, floating, .elementwise = step<ElementwiseOp::cosh>)
