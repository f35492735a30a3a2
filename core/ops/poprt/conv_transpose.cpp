// poprt.ConvTranspose: in channel blocks, with a kernel equal to the stride and without padding.
#include "kernels/calls/conv_transpose.h"
#include "base/checked.h"
#include "kernels/common/pack_conv.h"
#include "ops/common/axes.h"
#include "ops/common/flops.h"
#include "ops/common/fused_activation.h"
#include "ops/common/packed_bias.h"
#include "ops/op.h"

namespace poprt::ops::poprt_conv_transpose_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &w = ctx.in(1);
  if (!w.is_static() || w.shape.size() != 4)
    ctx.fail_input("weights must have four static dimensions");
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() != 5 || x.shape[1] != (w.shape[0] + 15) / 16 ||
      ctx.node.int_attr("channels", w.shape[0]) != w.shape[0])
    ctx.fail_input("input {} does not fit weights {}", shape_string(x.shape),
                   shape_string(w.shape));
  if (ctx.has(2) && ctx.in(2).is_static() && ctx.in(2).shape != Shape{w.shape[1]})
    ctx.fail_input("bias {} does not fit weights {}", shape_string(ctx.in(2).shape),
                   shape_string(w.shape));
  if (ctx.node.ints_attr("strides", {1, 1}) != std::vector<int64_t>{w.shape[2], w.shape[3]} ||
      ctx.node.int_attr("group", 1) != 1)
    ctx.fail_unsupported("kernel {} must equal the strides, in one group", shape_string(w.shape));
  const auto times = [](int64_t a, int64_t b) { return a < 0 ? kUnknownDim : checked_mul(a, b); };
  ctx.out(0, x.dtype,
          {x.shape[0], (w.shape[1] + 15) / 16, times(x.shape[2], w.shape[2]),
           times(x.shape[3], w.shape[3]), 16});
}

kernels::ConvWeights weights_of(const Tensor& t) {
  const Shape& shape = t.shape();
  return {t.values<float>(), 1, shape[1], shape[0], shape[2], shape[3]};
}

void lower(LowerContext& ctx) {
  const Tensor* weights = ctx.constant(1);
  if (!weights || weights->dtype() != DType::f32 || ctx.in_dtype(0) != DType::f32 ||
      (ctx.has(2) && !ctx.constant(2)))
    ctx.fail_unsupported("weights and bias must be constant and all types f32");
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  const kernels::ConvWeights w = weights_of(*weights);
  const int64_t count = checked_mul(checked_mul(w.taps(), w.blocks()), w.c * 16);
  const auto packed =
      ctx.pack(DType::f32, {count},
               {{*weights}, [](program::WeightForm::Sources from, program::WeightForm::Bytes to) {
                  kernels::pack_conv_transpose(weights_of(from[0]), program::as_array<float>(to));
                }});
  auto bias = LowerContext::kNone;
  if (const Tensor* b = ctx.constant(2)) bias = pack_bias(ctx, *b, b->count(), y[1] * 16);
  const FusedActivation a = fused_activation(ctx.node);
  ctx.emit(calls::ConvTranspose{.conv = {.batch = x[0],
                                         .groups = 1,
                                         .c = w.c,
                                         .m = w.m,
                                         .h = x[2],
                                         .w = x[3],
                                         .oh = y[2],
                                         .ow = y[3],
                                         .kh = w.kh,
                                         .kw = w.kw,
                                         .stride_h = w.kh,
                                         .stride_w = w.kw,
                                         .epilogue = epilogue_of(a)}},
           {ctx.in(0), packed, bias, LowerContext::kNone, ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  ctx.carry(0, 0, 0, 0);
  axes::into_blocks(ctx, 1, 1);
  if (ctx.has(2)) axes::into_blocks(ctx, 2, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ConvTranspose",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.flops = flops::conv_transpose,
                             .trial = {"T[1,1,4,4,16]; T[16,16,2,2]", "strides = [2, 2]"}}};

}  // namespace poprt::ops::poprt_conv_transpose_op
