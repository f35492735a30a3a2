#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(xor, "Xor", 1, logical, .elementwise = step<ElementwiseOp::logical_xor>,
                          .monotone = Monotone::all)
