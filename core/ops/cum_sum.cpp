#include "ops/common/cost.h"
#include "ops/common/cumulative.h"

namespace poprt::ops::cum_sum_op {

extern const OpDef def;
const OpDef def = {.name = "CumSum",
                   .since = 11,
                   .infer = [](InferContext& c) { c.out(0, c.in(0)); },
                   .lower = [](LowerContext& c) { lower_cumulative(c, false); },
                   .axes = axes_of_cumulative,
                   .cost = cost::cumulative,
                   .facts = {.monotone = Monotone::first, .trial = {"T[4,4]; s64[] = 0"}},
                   .bound = [](BoundContext& c) { return bound_cumulative(c, false); }};

}  // namespace poprt::ops::cum_sum_op
