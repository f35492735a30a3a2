#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(is_nan, "IsNaN", 9, floating, .elementwise = step<ElementwiseOp::is_nan>)
