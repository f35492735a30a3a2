// The inverses of square matrices.
#include "kernels/calls/inverse.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::microsoft_inverse_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (x.has_shape) {
    const size_t rank = x.shape.size();
    if (rank < 2 || (x.shape[rank - 1] >= 0 && x.shape[rank - 2] >= 0 &&
                     x.shape[rank - 1] != x.shape[rank - 2]))
      ctx.fail_input("the last two dimensions of input {} must be equal", shape_string(x.shape));
  }
  ctx.out(0, x);
}

void lower(LowerContext& ctx) {
  const Shape& x = ctx.in_shape(0);
  const int64_t n = x.back();
  const auto y = out_as_f32(ctx, 0);
  if (y == LowerContext::kNone) return;
  ctx.emit(calls::Inverse{.matrices = n ? element_count(x) / n / n : 0, .n = n},
           {in_as_f32(ctx, 0), y});
  finish_f32(ctx, 0, y);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Inverse",
                   .domain = "com.microsoft",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::batch_of_matrices,
                   .cost = cost::inverse,
                   .facts = {.trial = {"T[4,4]"}}};

}  // namespace poprt::ops::microsoft_inverse_op
