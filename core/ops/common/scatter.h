// Helpers shared by Scatter, ScatterElements and ScatterND.
#pragma once

#include "kernels/common/accumulate.h"
#include "ops/bound.h"
#include "ops/op.h"

namespace poprt::ops {

// Parses attribute reduction. Throws invalid_argument.
kernels::ScatterReduction reduction_of(const ir::Node& node);

// Throws unimplemented unless the element type supports the reduction.
void check_reduction(const LowerContext& ctx);

// Throws invalid_argument for attributes and types of data, indices and updates that no scatter
// supports.
void check_scatter_inputs(const InferContext& ctx);

void infer_scatter_elements(InferContext& ctx);
void lower_scatter_elements(LowerContext& ctx);
void axes_of_scatter_elements(AxesContext& ctx);

// Rows of indices that are padding have no effect: they repeat the place and the value of the first
// row, or have an update that changes nothing. `elements` selects ScatterElements instead of
// ScatterND.
BoundResult bound_scatter(BoundContext& ctx, bool elements);

}  // namespace poprt::ops
