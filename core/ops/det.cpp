#include "kernels/calls/det.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::det_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  const size_t rank = x.shape.size();
  if (rank < 2 ||
      (x.shape[rank - 1] >= 0 && x.shape[rank - 2] >= 0 && x.shape[rank - 1] != x.shape[rank - 2]))
    ctx.fail_input("input {} does not contain square matrices", shape_string(x.shape));
  ctx.out(0, x.dtype, Shape(x.shape.begin(), x.shape.end() - 2));
}

void lower(LowerContext& ctx) {
  const DType t = real_type(ctx);
  const auto y = out_as(ctx, 0, t);
  ctx.emit(calls::Det{.matrices = element_count(ctx.out_shape()), .n = ctx.in_shape(0).back()},
           {in_as(ctx, 0, t), y});
  finish_as(ctx, 0, y, t);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Det",
                   .since = 11,
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::batch_of_matrices,
                   .cost = cost::det,
                   .facts = {.trial = {"T[4,4]"}}};

}  // namespace poprt::ops::det_op
