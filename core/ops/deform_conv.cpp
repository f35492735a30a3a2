// X, W, offset, B?, mask?; two spatial dimensions, computed in f32, or f64 in f64.
#include "ops/common/as_real.h"
#include "ops/common/window.h"

namespace poprt::ops {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &w = ctx.in(1);
  if (!x.has_shape || !w.has_shape || !is_static(w.shape)) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() != 4 || w.shape.size() != 4)
    ctx.fail_unsupported("input {}: only two spatial dimensions", shape_string(x.shape));
  const std::vector<int64_t> spatial = {x.shape[2], x.shape[3]};
  const auto out = window_output(window_of(ctx.node, spatial, {w.shape[2], w.shape[3]}), spatial);
  ctx.out(0, x.dtype, {x.shape[0], w.shape[0], out[0], out[1]});
}

void lower(LowerContext& ctx) {
  const Shape &x = ctx.in_shape(0), &w = ctx.in_shape(1), &y = ctx.out_shape();
  const Window window = window_of(ctx.node, {x[2], x[3]}, {w[2], w[3]});
  if (element_count(y) == 0) return;
  const DType t = real_type(ctx);
  const auto place = out_as(ctx, 0, t);
  ctx.emit(
      "deform_conv",
      {in_as(ctx, 0, t), in_as(ctx, 1, t), in_as(ctx, 2, t), in_as(ctx, 3, t), in_as(ctx, 4, t),
       place},
      {x[0], x[1], x[2], x[3], w[0], y[2], y[3], w[2], w[3], window.strides[0], window.strides[1],
       window.pads_begin[0], window.pads_begin[1], window.dilations[0], window.dilations[1],
       ctx.node.int_attr("group", 1), ctx.node.int_attr("offset_group", 1)});
  finish_as(ctx, 0, place, t);
}

}  // namespace

extern const OpDef deform_conv_op;
const OpDef deform_conv_op = {.name = "DeformConv", .since = 19, .infer = infer, .lower = lower};

}  // namespace poprt::ops
