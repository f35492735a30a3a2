// poprt.Unblock: converts [N,CB,H,W,16] to [N,channels,H,W].
#include "kernels/calls/unblock.h"
#include "base/checked.h"
#include "ops/common/axes.h"
#include "ops/op.h"

namespace poprt::ops::poprt_unblock_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  const int64_t channels = ctx.node.int_attr("channels", 0);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() != 5 || channels < 1 || x.shape[1] != (channels + 15) / 16)
    ctx.fail_input("input {} is not the blocked form of {} channels", shape_string(x.shape),
                   channels);
  ctx.out(0, x.dtype, {x.shape[0], channels, x.shape[2], x.shape[3]});
}

void lower(LowerContext& ctx) {
  if (ctx.in_dtype(0) != DType::f32) ctx.fail_unsupported("only f32 can be blocked");
  const Shape& x = ctx.in_shape(0);
  ctx.emit(
      calls::Unblock{.n = x[0], .channels = ctx.out_shape()[1], .pixels = checked_mul(x[2], x[3])},
      {ctx.in(0), ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  const size_t channels[] = {1};
  axes::same(ctx, 0, 0, channels);
  axes::out_of_blocks(ctx, 0, 1);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Unblock",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.trial = {"T[1,1,4,4,16]", "channels = 16"}}};

}  // namespace poprt::ops::poprt_unblock_op
