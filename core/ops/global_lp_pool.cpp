#include "ops/common/flops.h"
#include "ops/common/pool.h"

namespace poprt::ops {

extern const OpDef global_lp_pool_op;
const OpDef global_lp_pool_op = {
    .name = "GlobalLpPool",

    .infer = infer_global_pool,
    .lower = [](LowerContext& ctx) { lower_global_pool(ctx, PoolKind::lp); },
    .facts = {.per_sample = true, .flops = flops::per_input}};

}  // namespace poprt::ops
