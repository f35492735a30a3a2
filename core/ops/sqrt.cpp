#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(sqrt, "Sqrt", 1, floating, .elementwise = step<ElementwiseOp::sqrt>,
                     .monotone = Monotone::all, .monotone_from_zero = true)
