#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/pool.h"

namespace poprt::ops::lp_pool_op {

extern const OpDef def;
const OpDef def = {
    .name = "LpPool",

    .infer = infer_pool,
    .lower = [](LowerContext& ctx) { lower_pool(ctx, PoolKind::lp); },
    .axes = axes_of_pool,
    .cost = cost::pool,
    .facts = {.flops = flops::pool, .trial = {"T[1,4,4,4]", "kernel_shape = [2, 2]"}}};

}  // namespace poprt::ops::lp_pool_op
