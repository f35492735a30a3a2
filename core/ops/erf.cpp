#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(erf, "Erf", 9, numeric, .blocked = BlockedForm::unary,
                     .elementwise = step<ElementwiseOp::erf>)
