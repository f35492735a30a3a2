#include "ops/common/pool.h"

namespace poprt::ops {

extern const OpDef blocked_maxpool_op;
const OpDef blocked_maxpool_op = {
    .name = "MaxPool",
    .domain = "poprt",
    .infer = infer_blocked_pool,
    .lower = [](LowerContext& ctx) { lower_blocked_pool(ctx, PoolKind::max); }};

}  // namespace poprt::ops
