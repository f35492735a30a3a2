// Rules for the hook OpDef::cost of operators that few models contain (ops/cost.h). The chip's
// library has no vertices for most of them; they are products, sorts and elementwise steps.
#pragma once

#include "ops/cost.h"

namespace poprt::ops::cost {

void affine_grid(CostContext& ctx);
void window(CostContext& ctx);
void dft(CostContext& ctx);
void stft(CostContext& ctx);
void deform_conv(CostContext& ctx);
void det(CostContext& ctx);
void dynamic_quantize(CostContext& ctx);
void causal_conv(CostContext& ctx);
void linear_attention(CostContext& ctx);
void max_roi_pool(CostContext& ctx);
void roi_align(CostContext& ctx);
void max_unpool(CostContext& ctx);
void mel_weight_matrix(CostContext& ctx);
void multinomial(CostContext& ctx);
void negative_log_likelihood(CostContext& ctx);
void softmax_cross_entropy(CostContext& ctx);
void non_max_suppression(CostContext& ctx);
void non_zero(CostContext& ctx);
void tf_idf(CostContext& ctx);
void unique(CostContext& ctx);
void shift(CostContext& ctx);
void inverse(CostContext& ctx);
void image_decoder(CostContext& ctx);
void crop_and_resize(CostContext& ctx);
void nhwc_max_pool(CostContext& ctx);
void dynamic_time_warping(CostContext& ctx);
void bifurcation(CostContext& ctx);
void label_encoder(CostContext& ctx);
void tree_ensemble(CostContext& ctx);
void projected_attention(CostContext& ctx);
void projected_lstm(CostContext& ctx);
void expert_rows(CostContext& ctx);
void sum(CostContext& ctx);
void svm_votes(CostContext& ctx);

}  // namespace poprt::ops::cost
