#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/pool.h"

namespace poprt::ops::max_pool_op {

extern const OpDef def;
const OpDef def = {.name = "MaxPool",

                   .infer = infer_pool,
                   .lower = [](LowerContext& ctx) { lower_pool(ctx, PoolKind::max); },
                   .axes = axes_of_pool,
                   .cost = cost::pool,
                   .facts = {.qdq = QdqForm::orders,
                             .flops = flops::pool,
                             .trial = {"T[1,4,4,4]", "kernel_shape = [2, 2]"}}};

}  // namespace poprt::ops::max_pool_op
