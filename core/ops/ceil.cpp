#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(ceil, "Ceil", 1, floating, .elementwise = step<ElementwiseOp::ceil>,
                     .monotone = Monotone::all)
