#include "ops/common/scatter.h"
#include "ops/common/cost.h"

namespace poprt::ops::scatter_op {

extern const OpDef def;
// Opset 11 deprecated Scatter in favour of ScatterElements.
const OpDef def = {
    .name = "Scatter",
    .since = 9,
    .until = 10,
    .infer = infer_scatter_elements,
    .lower = lower_scatter_elements,
    .axes = axes_of_scatter_elements,
    .cost = cost::scatter,
    .facts = {.moves = true, .narrows = true, .trial = {"T[4,4]; s64[1,2] = [0, 1]; T[1,2]"}},
    .bound = [](BoundContext& c) { return bound_scatter(c, true); }};

}  // namespace poprt::ops::scatter_op
