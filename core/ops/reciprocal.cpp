#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(reciprocal, "Reciprocal", 1, floating,
                     .elementwise = step<ElementwiseOp::reciprocal>)
