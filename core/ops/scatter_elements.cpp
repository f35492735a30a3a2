#include "ops/common/scatter.h"

namespace poprt::ops {

extern const OpDef scatter_elements_op;
const OpDef scatter_elements_op = {
    .name = "ScatterElements",
    .since = 11,
    .infer = infer_scatter_elements,
    .lower = lower_scatter_elements,
    .facts = {.moves = true, .narrows = true, .size_rule = SizeRule::scatter}};

}  // namespace poprt::ops
