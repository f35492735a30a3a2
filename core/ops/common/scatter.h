// What Scatter, ScatterElements and ScatterND share.
#pragma once

#include "kernels/common/accumulate.h"
#include "ops/bound.h"
#include "ops/op.h"

namespace poprt::ops {

// What attribute reduction says. Throws invalid_argument.
kernels::ScatterReduction reduction_of(const ir::Node& node);

// Throws unless the dtype has the reduction.
void check_reduction(const LowerContext& ctx);

// Throws for attributes and types of data, indices and updates that no scatter takes.
void check_scatter_types(const InferContext& ctx);

void infer_scatter_elements(InferContext& ctx);
void lower_scatter_elements(LowerContext& ctx);
void axes_of_scatter_elements(AxesContext& ctx);

// Rows of indices that are padding do nothing: they name the place of the first row with its value,
// or have an update that changes nothing. `elements`: of ScatterElements, not of ScatterND.
BoundResult bound_scatter(BoundContext& ctx, bool elements);

}  // namespace poprt::ops
