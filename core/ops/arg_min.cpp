#include "ops/common/arg_extreme.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"

namespace poprt::ops::arg_min_op {

extern const OpDef def;
const OpDef def = {.name = "ArgMin",
                   .infer = infer_arg,
                   .lower = [](LowerContext& c) { lower_arg(c, true); },
                   .axes = axes_of_arg,
                   .cost = cost::reduce,
                   .facts = {.flops = flops::per_input},
                   .bound = [](BoundContext& c) { return bound_arg(c, true); }};

}  // namespace poprt::ops::arg_min_op
