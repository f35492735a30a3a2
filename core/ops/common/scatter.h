// What Scatter, ScatterElements and ScatterND share.
#pragma once

#include "ops/op.h"

namespace poprt::ops {

// The number of kernels/common/accumulate.h for attribute reduction. Throws invalid_argument.
int64_t reduction_of(const ir::Node& node);

// Throws unless the dtype has the reduction.
void check_reduction(const LowerContext& ctx);

void infer_scatter_elements(InferContext& ctx);
void lower_scatter_elements(LowerContext& ctx);

}  // namespace poprt::ops
