#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(sigmoid, "Sigmoid", 1, floating, .blocked = BlockedForm::unary,
                     .elementwise = step<ElementwiseOp::sigmoid>,
                     .epilogue = plain_epilogue<Activation::sigmoid>)
