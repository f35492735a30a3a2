#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(bitwise_not, "BitwiseNot", 18, integer,
                     .elementwise = step<ElementwiseOp::bit_not>)
