#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(asin, "Asin", 7, floating, .elementwise = step<ElementwiseOp::asin>)
