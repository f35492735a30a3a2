#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(equal, "Equal", 1, any, .narrows = true, .text_form = TextForm::compares,
                          .text_inputs = 0b11, .elementwise = step<ElementwiseOp::equal>,
                          .monotone = Monotone::equality)
