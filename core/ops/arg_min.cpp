#include "ops/common/arg_extreme.h"

namespace poprt::ops {

extern const OpDef arg_min_op;
const OpDef arg_min_op = {.name = "ArgMin",
                          .infer = infer_arg,
                          .lower = [](LowerContext& c) { lower_arg(c, true); },
                          .facts = {.size_rule = SizeRule::arg_min}};

}  // namespace poprt::ops
