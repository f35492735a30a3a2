#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(greater_or_equal, "GreaterOrEqual", 12, numeric, .narrows = true,
                          .elementwise = step<ElementwiseOp::greater_equal>,
                          .monotone = Monotone::all)
