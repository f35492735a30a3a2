#include "ops/common/pool.h"

namespace poprt::ops {

extern const OpDef lppool_op;
const OpDef lppool_op = {.name = "LpPool",

                         .infer = infer_pool,
                         .lower = [](LowerContext& ctx) { lower_pool(ctx, PoolKind::lp); },
                         .facts = {.per_sample = true}};

}  // namespace poprt::ops
