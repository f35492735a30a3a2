#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(equal, "Equal", 1, any, .narrows = true,
                          .elementwise = step<ElementwiseOp::equal>)
