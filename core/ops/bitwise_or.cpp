#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(bitwise_or, "BitwiseOr", 18, integer,
                     .elementwise = step<ElementwiseOp::bit_or>)
