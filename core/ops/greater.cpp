#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(greater, "Greater", 1, numeric, .narrows = true,
                          .elementwise = step<ElementwiseOp::greater>, .monotone = Monotone::all)
