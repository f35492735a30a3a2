#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(tanh, "Tanh", 1, floating, .blocked = BlockedForm::unary,
                     .elementwise = step<ElementwiseOp::tanh>,
                     .epilogue = plain_epilogue<Activation::tanh>)
