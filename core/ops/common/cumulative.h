// CumSum and CumProd.
#pragma once

#include "ops/bound.h"
#include "ops/op.h"

namespace poprt::ops {

// Emits running sums or products of input 0 along the constant axis in input 1.
void lower_cumulative(LowerContext& ctx, bool product);
void axes_of_cumulative(AxesContext& ctx);

// Padding is after the real elements, so it does not affect them. With attribute `reverse` it does,
// and is replaced by the neutral element.
BoundResult bound_cumulative(BoundContext& ctx, bool product);

}  // namespace poprt::ops
