#include "ops/common/as_f32.h"
#include "ops/common/loss.h"

namespace poprt::ops {

extern const OpDef negative_log_likelihood_loss_op;
const OpDef negative_log_likelihood_loss_op = {
    .name = "NegativeLogLikelihoodLoss",
    .since = 12,
    .infer = infer_loss,
    .lower = [](LowerContext& c) { lower_loss(c, in_as_f32(c, 0)); }};

}  // namespace poprt::ops
