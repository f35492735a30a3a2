#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(and, "And", 1, logical, .narrows = true,
                          .elementwise = step<ElementwiseOp::logical_and>,
                          .monotone = Monotone::all)
