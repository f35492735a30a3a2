// CumSum and CumProd.
#pragma once

#include "ops/bound.h"
#include "ops/op.h"

namespace poprt::ops {

// Running sums or products of input 0 along the constant axis in input 1.
void lower_cumulative(LowerContext& ctx, bool product);
void axes_of_cumulative(AxesContext& ctx);

// From the end on, the padding of input 0 changes nothing.
BoundResult bound_cumulative(BoundContext& ctx, bool product);

}  // namespace poprt::ops
