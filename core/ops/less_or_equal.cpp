#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(less_or_equal, "LessOrEqual", 12, numeric, .narrows = true,
                          .elementwise = step<ElementwiseOp::less_equal>, .monotone = Monotone::all)
