// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#pragma once

#include "ops/op.h"

namespace poprt::ops {

void infer_loss(InferContext& ctx);
void axes_of_loss(AxesContext& ctx);
// `x` contains log-probabilities in the shape of input 0 and in the type real_type().
void lower_loss(LowerContext& ctx, program::BufferId x);

}  // namespace poprt::ops
