// LayerNormalization and its root-mean-square sisters.
#pragma once

#include "ops/bound.h"
#include "ops/op.h"

namespace poprt::ops {

// Output 0 like input 0; with outputs 1 and 2, mean and 1 / deviation (kept dimensions, f32, or
// f64 as stash_type says).
void infer_layer_norm(InferContext& ctx);
// `rms`: no mean, no bias; output 1 is 1 / root mean square.
void lower_layer_norm(LowerContext& ctx, bool rms);
void axes_of_layer_norm(AxesContext& ctx);

// InstanceNormalization and GroupNormalization: one row per group of channels; `per_channel` says
// whether scale and bias have an entry for each channel or for each group.
void lower_channel_norm(LowerContext& ctx, int64_t groups, bool per_channel);
void axes_of_channel_norm(AxesContext& ctx, int64_t groups);

// A size of an axis before those that are normalised stays; others are refused.
BoundResult bound_layer_norm(BoundContext& ctx);

}  // namespace poprt::ops
