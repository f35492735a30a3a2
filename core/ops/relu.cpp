#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(relu, "Relu", 1, numeric, .narrows = true, .blocked = BlockedForm::unary,
                     .elementwise = step<ElementwiseOp::relu>,
                     .epilogue = plain_epilogue<Activation::relu>, .monotone = Monotone::all)
