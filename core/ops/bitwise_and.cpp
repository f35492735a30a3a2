#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(bitwise_and, "BitwiseAnd", 18, integer,
                     .elementwise = step<ElementwiseOp::bit_and>)
