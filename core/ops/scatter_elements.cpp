#include "ops/common/cost.h"
#include "ops/common/scatter.h"

namespace poprt::ops::scatter_elements_op {

extern const OpDef def;
const OpDef def = {
    .name = "ScatterElements",
    .since = 11,
    .infer = infer_scatter_elements,
    .lower = lower_scatter_elements,
    .axes = axes_of_scatter_elements,
    .cost = cost::scatter,
    .facts = {.moves = true, .narrows = true, .trial = {"T[4,4]; s64[1,2] = [0, 1]; T[1,2]"}},
    .bound = [](BoundContext& c) { return bound_scatter(c, true); }};

}  // namespace poprt::ops::scatter_elements_op
