#include "ops/common/arg_extreme.h"
#include "ops/common/flops.h"

namespace poprt::ops {

extern const OpDef arg_min_op;
const OpDef arg_min_op = {.name = "ArgMin",
                          .infer = infer_arg,
                          .lower = [](LowerContext& c) { lower_arg(c, true); },
                          .facts = {.size_rule = SizeRule::arg_min, .flops = flops::per_input}};

}  // namespace poprt::ops
