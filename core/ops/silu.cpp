#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_DEF(
    silu, .name = "Silu", .domain = "poprt",
    .infer = [](InferContext& c) { infer_elementwise(c, ElementwiseTypes::floating, false); },
    .lower = lower_elementwise, .sharing = {.in_place = 1})
