#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(softplus, "Softplus", 1, floating, .blocked = BlockedForm::unary,
                     .elementwise = step<ElementwiseOp::softplus>)
