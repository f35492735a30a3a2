#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(sub, "Sub", 1, numeric, .narrows = true, .weight_inputs = 0b11,
                     .blocked = BlockedForm::binary, .elementwise = step<ElementwiseOp::sub>,
                     .monotone = Monotone::all)
