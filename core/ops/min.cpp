#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(min, "Min", 1, numeric, .narrows = true, .blocked = BlockedForm::binary,
                     .elementwise = fold_step<ElementwiseOp::min>, .monotone = Monotone::all)
