// Rules for the hook OpDef::cost that operators share (ops/cost.h).
#pragma once

#include "ops/cost.h"

namespace poprt::ops::cost {

void none(CostContext& ctx);  // a view, or computed before the program runs
void elementwise(CostContext& ctx);
void movement(CostContext& ctx);
void transpose(CostContext& ctx);
void transpose_all(CostContext& ctx);  // the innermost axis changes
void reduce(CostContext& ctx);
void softmax(CostContext& ctx);
void layer_normalization(CostContext& ctx);
void rms_normalization(CostContext& ctx);
void instance_normalization(CostContext& ctx);
void batch_normalization(CostContext& ctx);
void matmul(CostContext& ctx);
void gemm(CostContext& ctx);
void conv(CostContext& ctx);
void conv_transpose(CostContext& ctx);
void attention(CostContext& ctx);
void recurrent(CostContext& ctx);
void pool(CostContext& ctx);
void global_pool(CostContext& ctx);
void gather(CostContext& ctx);
void gather_elements(CostContext& ctx);
void gather_nd(CostContext& ctx);
void scatter(CostContext& ctx);
void resize(CostContext& ctx);
void sort(CostContext& ctx);
void cumulative(CostContext& ctx);
void cast(CostContext& ctx);
void check_index(CostContext& ctx);
void qlinear_conv(CostContext& ctx);
void qlinear_matmul(CostContext& ctx);
void einsum(CostContext& ctx);
void local_response(CostContext& ctx);
void rotary(CostContext& ctx);
void random(CostContext& ctx);

}  // namespace poprt::ops::cost
