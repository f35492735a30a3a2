// poprt.Block: converts [N,C,H,W] to [N,ceil(C/16),H,W,16].
#include "kernels/calls/block.h"
#include "base/checked.h"
#include "ops/common/axes.h"
#include "ops/op.h"

namespace poprt::ops::poprt_block_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() != 4)
    ctx.fail_input("input {} must have four dimensions", shape_string(x.shape));
  const int64_t c = x.shape[1];
  ctx.out(0, x.dtype,
          {x.shape[0], c < 0 ? kUnknownDim : (c + 15) / 16, x.shape[2], x.shape[3], 16});
}

void lower(LowerContext& ctx) {
  if (ctx.in_dtype(0) != DType::f32) ctx.fail_unsupported("only f32 can be blocked");
  const Shape& x = ctx.in_shape(0);
  ctx.emit(calls::Block{.n = x[0], .channels = x[1], .pixels = checked_mul(x[2], x[3])},
           {ctx.in(0), ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  const size_t channels[] = {1};
  axes::same(ctx, 0, 0, channels);
  axes::into_blocks(ctx, 0, 1);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "Block", .domain = "poprt", .infer = infer, .lower = lower, .axes = map_axes};

}  // namespace poprt::ops::poprt_block_op
