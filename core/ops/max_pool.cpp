#include "ops/common/flops.h"
#include "ops/common/pool.h"

namespace poprt::ops {

extern const OpDef max_pool_op;
const OpDef max_pool_op = {.name = "MaxPool",

                           .infer = infer_pool,
                           .lower = [](LowerContext& ctx) { lower_pool(ctx, PoolKind::max); },
                           .facts = {.per_sample = true,
                                     .qdq = QdqForm::orders,
                                     .flops = flops::pool,
                                     .trial = {"T[1,4,4,4]", "kernel_shape = [2, 2]"}}};

}  // namespace poprt::ops
