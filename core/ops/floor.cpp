#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(floor, "Floor", 1, floating, .elementwise = step<ElementwiseOp::floor>,
                     .monotone = Monotone::all)
