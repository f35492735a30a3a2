// The Reduce* operators. Axes are an attribute or (ReduceSum from opset 13 on, the others from 18
// on) an input, which must be constant.
#pragma once

#include "kernels/common/reduction.h"
#include "ops/bound.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/op.h"

namespace poprt::ops {

// Whether the axes of a Reduce* operator are its input 1 in this opset.
bool reduces_by_input(std::string_view op_type, int64_t opset);

void infer_reduce(InferContext& ctx);
void lower_reduce(LowerContext& ctx, kernels::Reduction kind);
void axes_of_reduce(AxesContext& ctx);

// The sizes before, at and after an axis.
struct AxisSplit {
  int64_t outer = 1, n = 1, inner = 1;
};
AxisSplit split_at(const Shape& shape, int64_t axis);

// Padding is replaced by the neutral element of the reduction.
BoundResult bound_reduction(BoundContext& ctx, kernels::Reduction kind);

#define POPRT_REDUCE_OP(symbol, op_name, kind, ...)                                             \
  namespace poprt::ops::symbol##_op {                                                           \
    extern const OpDef def;                                                                     \
    const OpDef def = {                                                                         \
        .name = op_name,                                                                        \
        .infer = infer_reduce,                                                                  \
        .lower = [](LowerContext& c) { lower_reduce(c, kernels::Reduction::kind); },            \
        .axes = axes_of_reduce,                                                                 \
        .cost = cost::reduce,                                                                   \
        .facts = {__VA_ARGS__, .flops = flops::per_input, .trial = {"T[4,4]; s64[1] = [1]"}},   \
        .bound = [](BoundContext& c) { return bound_reduction(c, kernels::Reduction::kind); }}; \
  }

}  // namespace poprt::ops
