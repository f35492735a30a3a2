#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(hard_swish, "HardSwish", 14, floating, .blocked = BlockedForm::unary,
                     .elementwise = step<ElementwiseOp::hard_swish>,
                     .epilogue = plain_epilogue<Activation::hard_swish>)
