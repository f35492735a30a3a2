#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(sign, "Sign", 9, numeric, .narrows = true,
                     .elementwise = step<ElementwiseOp::sign>)
