#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(mish, "Mish", 18, floating, .blocked = BlockedForm::unary,
                     .elementwise = step<ElementwiseOp::mish>)
