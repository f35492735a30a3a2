#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(not, "Not", 1, logical, .elementwise = step<ElementwiseOp::logical_not>,
                          .monotone = Monotone::all)
