#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_DEF(
    pow, .name = "Pow", .since = 1,
    .infer = [](InferContext& c) { infer_elementwise(c, ElementwiseTypes::numeric, false, true); },
    .lower = lower_elementwise, .sharing = {.in_place = 1})
