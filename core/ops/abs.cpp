#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(abs, "Abs", 1, numeric, .narrows = true, .blocked = BlockedForm::unary,
                     .elementwise = step<ElementwiseOp::abs>, .monotone = Monotone::first,
                     .monotone_from_zero = true)
