#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(atan, "Atan", 7, floating, .elementwise = step<ElementwiseOp::atan>)
