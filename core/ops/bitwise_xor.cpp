#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(bitwise_xor, "BitwiseXor", 18, integer,
                     .elementwise = step<ElementwiseOp::bit_xor>)
