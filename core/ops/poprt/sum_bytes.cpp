// poprt.SumBytes: exact sums of u8 or s8 over axis 1 of [outer, n, inner], as s32 [outer, inner].
#include "kernels/calls/sum_bytes.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/op.h"

namespace poprt::ops::poprt_sum_bytes_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.has_shape) return ctx.out_dtype(0, DType::s32);
  if (x.shape.size() != 3)
    ctx.fail_input("input {} must have three dimensions", shape_string(x.shape));
  ctx.out(0, DType::s32, {x.shape[0], x.shape[2]});
}

void lower(LowerContext& ctx) {
  const Shape& x = ctx.in_shape(0);
  ctx.emit(calls::SumBytes{.outer = x[0], .n = x[1], .inner = x[2]}, {ctx.in(0), ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  ctx.carry(0, 0, 0, 0);
  ctx.carry(0, 2, 0, 1);
  ctx.reduce({{0, 1}});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SumBytes",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::sum,
                   .facts = {.trial = {"T[4,4,4]"}}};

}  // namespace poprt::ops::poprt_sum_bytes_op
