// poprt.GlobalAveragePool: the input is blocked, the output is plain [N, channels, 1, 1].
#include "base/checked.h"
#include "kernels/calls/global_average_blocked.h"
#include "ops/common/axes.h"
#include "ops/common/flops.h"
#include "ops/op.h"

namespace poprt::ops::poprt_global_average_pool_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  const int64_t channels = ctx.node.int_attr("channels", 0);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() != 5 || channels < 1 || x.shape[1] != (channels + 15) / 16)
    ctx.fail_input("input {} is not the blocked form of {} channels", shape_string(x.shape),
                   channels);
  ctx.out(0, x.dtype, {x.shape[0], channels, 1, 1});
}

void lower(LowerContext& ctx) {
  if (ctx.in_dtype(0) != DType::f32) ctx.fail_unsupported("only f32 can be blocked");
  const Shape& x = ctx.in_shape(0);
  ctx.emit(
      calls::GlobalAverageBlocked{
          .n = x[0], .channels = ctx.out_shape()[1], .pixels = checked_mul(x[2], x[3])},
      {ctx.in(0), ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  ctx.carry(0, 0, 0, 0);
  axes::out_of_blocks(ctx, 0, 1);
  for (const size_t d : {2, 3}) ctx.reduce({{0, d}});
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "GlobalAveragePool",
    .domain = "poprt",
    .infer = infer,
    .lower = lower,
    .axes = map_axes,
    .facts = {.flops = flops::per_input, .trial = {"T[1,1,4,4,16]", "channels = 16"}}};

}  // namespace poprt::ops::poprt_global_average_pool_op
