#include "ops/common/cost.h"
#include "ops/common/cumulative.h"

namespace poprt::ops::cum_prod_op {

extern const OpDef def;
const OpDef def = {.name = "CumProd",
                   .since = 26,
                   .infer = [](InferContext& c) { c.out(0, c.in(0)); },
                   .lower = [](LowerContext& c) { lower_cumulative(c, true); },
                   .axes = axes_of_cumulative,
                   .cost = cost::cumulative,
                   .facts = {.trial = {"T[4,4]; s64[] = 0"}},
                   .bound = [](BoundContext& c) { return bound_cumulative(c, true); }};

}  // namespace poprt::ops::cum_prod_op
