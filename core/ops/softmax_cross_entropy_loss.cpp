// Output 1 is the log softmax along axis 1.
#include "kernels/calls/softmax.h"
#include "ops/common/as_real.h"
#include "ops/common/cost_special.h"
#include "ops/common/loss.h"
#include "ops/common/reduce.h"

namespace poprt::ops::softmax_cross_entropy_loss_op {
namespace {

void lower(LowerContext& ctx) {
  const AxisSplit s = split_at(ctx.in_shape(0), 1);
  const DType t = real_type(ctx);
  const auto wanted = out_as(ctx, 1, t);
  const auto logs = wanted != LowerContext::kNone ? wanted : ctx.temporary(t, ctx.in_shape(0));
  ctx.emit(
      calls::Softmax{
          .outer = s.outer, .n = s.n, .inner = s.inner, .mode = calls::SoftmaxMode::logarithm},
      {in_as(ctx, 0, t), logs});
  lower_loss(ctx, logs);
  finish_as(ctx, 1, wanted, t);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SoftmaxCrossEntropyLoss",
                   .since = 12,
                   .infer = infer_loss,
                   .lower = lower,
                   .axes = axes_of_loss,
                   .cost = cost::softmax_cross_entropy,
                   .facts = {.trial = {"T[4,4]; s64[4]"}}};

}  // namespace poprt::ops::softmax_cross_entropy_loss_op
