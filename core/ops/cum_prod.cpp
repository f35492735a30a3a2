#include "ops/common/cumulative.h"

namespace poprt::ops {

extern const OpDef cum_prod_op;
const OpDef cum_prod_op = {
    .name = "CumProd",
    .since = 26,
    .infer = [](InferContext& c) { c.out(0, c.in(0)); },
    .lower = [](LowerContext& c) { lower_cumulative(c, true); },
    .facts = {.size_rule = SizeRule::cumulative_product, .trial = {"T[4,4]; s64[] = 0"}}};

}  // namespace poprt::ops
