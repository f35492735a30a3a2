// LayerNormalization and its variants without a mean (root mean square).
#pragma once

#include "ops/bound.h"
#include "ops/op.h"

namespace poprt::ops {

// Infers output 0 like input 0, and outputs 1 and 2, mean and 1 / deviation (kept dimensions, f32,
// or f64 according to stash_type).
void infer_layer_norm(InferContext& ctx);
// `rms`: there is no mean and no bias, and output 1 is 1 / root mean square.
void lower_layer_norm(LowerContext& ctx, bool rms);
void axes_of_layer_norm(AxesContext& ctx);

// InstanceNormalization and GroupNormalization: one row for each group of channels. `per_channel`
// states whether scale and bias have one element for each channel, or one for each group.
void lower_channel_norm(LowerContext& ctx, int64_t groups, bool per_channel);
void axes_of_channel_norm(AxesContext& ctx, int64_t groups);

// A size along an axis before the normalised ones is kept; others are refused.
BoundResult bound_layer_norm(BoundContext& ctx);

}  // namespace poprt::ops
