#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(div, "Div", 1, numeric, .narrows = true, .weight_inputs = 0b11,
                     .elementwise = step<ElementwiseOp::div>, .monotone = Monotone::quotient)
