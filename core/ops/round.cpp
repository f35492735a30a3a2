#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(round, "Round", 11, floating, .elementwise = step<ElementwiseOp::round>,
                     .monotone = Monotone::all)
