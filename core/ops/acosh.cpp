#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(acosh, "Acosh", 9, floating, .elementwise = step<ElementwiseOp::acosh>)
