#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(max, "Max", 1, numeric, .narrows = true, .blocked = BlockedForm::binary,
                     .elementwise = fold_step<ElementwiseOp::max>, .monotone = Monotone::all)
