#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(or, "Or", 1, logical, .elementwise = step<ElementwiseOp::logical_or>,
                          .monotone = Monotone::all)
