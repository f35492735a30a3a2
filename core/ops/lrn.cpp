#include "kernels/calls/lrn.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"

namespace poprt::ops::lrn_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (x.has_shape && x.shape.size() < 2)
    ctx.fail_input("input {} has no channels", shape_string(x.shape));
  if (ctx.node.int_attr("size", 0) < 1) ctx.fail_input("size must be at least 1");
  ctx.out(0, x);
}

void lower(LowerContext& ctx) {
  const Shape& x = ctx.in_shape(0);
  const DType t = real_type(ctx);
  const auto y = out_as(ctx, 0, t);
  ctx.emit(calls::Lrn{.n = x[0],
                      .c = x[1],
                      .pixels = partial_product(x, 2, x.size()),
                      .size = ctx.node.int_attr("size", 1),
                      .alpha = ctx.node.float_attr("alpha", 1e-4f),
                      .beta = ctx.node.float_attr("beta", 0.75f),
                      .bias = ctx.node.float_attr("bias", 1.0f)},
           {in_as(ctx, 0, t), y});
  finish_as(ctx, 0, y, t);
}

// The channels within a window are summed.
void map_axes(AxesContext& ctx) {
  const size_t channels[] = {1};
  axes::same(ctx, 0, 0, channels);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "LRN",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::local_response,
                   .facts = {.trial = {"T[1,4,4,4]", "size = 3"}}};

}  // namespace poprt::ops::lrn_op
