#include "ops/common/arg_extreme.h"
#include "ops/common/flops.h"

namespace poprt::ops {

extern const OpDef arg_max_op;
const OpDef arg_max_op = {.name = "ArgMax",
                          .infer = infer_arg,
                          .lower = [](LowerContext& c) { lower_arg(c, false); },
                          .facts = {.size_rule = SizeRule::arg_max, .flops = flops::per_input}};

}  // namespace poprt::ops
