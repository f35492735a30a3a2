#include "ops/common/cumulative.h"

namespace poprt::ops {

extern const OpDef cumsum_op;
const OpDef cumsum_op = {.name = "CumSum",
                         .since = 11,
                         .infer = [](InferContext& c) { c.out(0, c.in(0)); },
                         .lower = [](LowerContext& c) { lower_cumulative(c, false); }};

}  // namespace poprt::ops
