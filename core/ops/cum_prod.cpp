#include "ops/common/cumulative.h"

namespace poprt::ops {

extern const OpDef cum_prod_op;
const OpDef cum_prod_op = {.name = "CumProd",
                           .since = 26,
                           .infer = [](InferContext& c) { c.out(0, c.in(0)); },
                           .lower = [](LowerContext& c) { lower_cumulative(c, true); },
                           .facts = {.size_rule = SizeRule::cumulative_product}};

}  // namespace poprt::ops
