#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/pool.h"

namespace poprt::ops::global_max_pool_op {

extern const OpDef def;
const OpDef def = {.name = "GlobalMaxPool",

                   .infer = infer_global_pool,
                   .lower = [](LowerContext& ctx) { lower_global_pool(ctx, PoolKind::max); },
                   .axes = axes_of_global_pool,
                   .cost = cost::global_pool,
                   .facts = {.flops = flops::per_input}};

}  // namespace poprt::ops::global_max_pool_op
