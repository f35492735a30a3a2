#include "ops/common/flops.h"
#include "ops/common/pool.h"

namespace poprt::ops::poprt_max_pool_op {

extern const OpDef def;
const OpDef def = {
    .name = "MaxPool",
    .domain = "poprt",
    .infer = infer_blocked_pool,
    .lower = [](LowerContext& ctx) { lower_blocked_pool(ctx, PoolKind::max); },
    .axes = axes_of_blocked_pool,
    .facts = {.flops = flops::pool, .trial = {"T[1,1,4,4,16]", "kernel_shape = [2, 2]"}}};

}  // namespace poprt::ops::poprt_max_pool_op
