#include "ops/common/arg_extreme.h"

namespace poprt::ops {

extern const OpDef arg_max_op;
const OpDef arg_max_op = {
    .name = "ArgMax", .infer = infer_arg, .lower = [](LowerContext& c) { lower_arg(c, false); }};

}  // namespace poprt::ops
