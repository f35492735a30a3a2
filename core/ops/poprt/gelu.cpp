// Gelu in our domain: passes make it for models whose opset has none.
#include "ops/common/gelu.h"
#include "ops/common/axes.h"

POPRT_ELEMENTWISE_DEF(
    poprt_gelu, .name = "Gelu", .domain = "poprt",
    .infer = [](InferContext& c) { infer_elementwise(c, ElementwiseTypes::floating, false); },
    .lower = lower_elementwise, .axes = axes::elementwise, .sharing = {.in_place = 1},
    .facts = {.per_element = true,
              .blocked = BlockedForm::unary,
              .elementwise = {append_gelu},
              .epilogue = gelu_epilogue})
