#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(less, "Less", 1, numeric, .narrows = true,
                          .elementwise = step<ElementwiseOp::less>, .monotone = Monotone::all)
