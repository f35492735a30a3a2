#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(neg, "Neg", 1, numeric, .narrows = true, .blocked = BlockedForm::unary,
                     .elementwise = step<ElementwiseOp::neg>, .monotone = Monotone::all)
