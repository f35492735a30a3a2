#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(sum, "Sum", 1, floating, .elementwise = fold_step<ElementwiseOp::add>,
                     .monotone = Monotone::all)
