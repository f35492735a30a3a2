#include "ops/common/as_real.h"
#include "ops/common/cost_special.h"
#include "ops/common/loss.h"

namespace poprt::ops::negative_log_likelihood_loss_op {

extern const OpDef def;
const OpDef def = {.name = "NegativeLogLikelihoodLoss",
                   .since = 12,
                   .infer = infer_loss,
                   .lower = [](LowerContext& c) { lower_loss(c, in_as(c, 0, real_type(c))); },
                   .axes = axes_of_loss,
                   .cost = cost::negative_log_likelihood,
                   .facts = {.trial = {"T[4,4]; s64[4]"}}};

}  // namespace poprt::ops::negative_log_likelihood_loss_op
