#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(atanh, "Atanh", 9, floating, .elementwise = step<ElementwiseOp::atanh>)
