#include "ops/common/pool.h"

namespace poprt::ops {

extern const OpDef max_pool_op;
const OpDef max_pool_op = {.name = "MaxPool",

                           .infer = infer_pool,
                           .lower = [](LowerContext& ctx) { lower_pool(ctx, PoolKind::max); },
                           .facts = {.per_sample = true, .qdq = QdqForm::orders}};

}  // namespace poprt::ops
