#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(add, "Add", 1, numeric, .narrows = true, .weight_inputs = 0b11,
                     .blocked = BlockedForm::binary, .elementwise = step<ElementwiseOp::add>,
                     .monotone = Monotone::all)
