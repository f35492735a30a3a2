#include "ops/common/arg_extreme.h"

namespace poprt::ops {

extern const OpDef arg_max_op;
const OpDef arg_max_op = {.name = "ArgMax",
                          .infer = infer_arg,
                          .lower = [](LowerContext& c) { lower_arg(c, false); },
                          .facts = {.size_rule = SizeRule::arg_max}};

}  // namespace poprt::ops
