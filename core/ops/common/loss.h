// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#pragma once

#include "ops/op.h"

namespace poprt::ops {

void infer_loss(InferContext& ctx);
void axes_of_loss(AxesContext& ctx);
// `x` contains f32 log-probabilities in the shape of input 0.
void lower_loss(LowerContext& ctx, program::BufferId x);

}  // namespace poprt::ops
