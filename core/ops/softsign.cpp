#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(softsign, "Softsign", 1, floating, .blocked = BlockedForm::unary,
                     .elementwise = step<ElementwiseOp::softsign>)
