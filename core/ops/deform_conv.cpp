// Inputs: X, W, offset, B?, mask?. Two spatial dimensions; computed in f32, or in f64 for f64
// input.
#include "kernels/calls/deform_conv.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/window.h"

namespace poprt::ops::deform_conv_op {
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
  ctx.emit(calls::DeformConv{.n = x[0],
                             .c = x[1],
                             .h = x[2],
                             .w = x[3],
                             .m = w[0],
                             .oh = y[2],
                             .ow = y[3],
                             .kh = w[2],
                             .kw = w[3],
                             .sy = window.strides[0],
                             .sx = window.strides[1],
                             .py = window.pads_begin[0],
                             .px = window.pads_begin[1],
                             .dy = window.dilations[0],
                             .dx = window.dilations[1],
                             .groups = ctx.node.int_attr("group", 1),
                             .offset_groups = ctx.node.int_attr("offset_group", 1)},
           {in_as(ctx, 0, t), in_as(ctx, 1, t), in_as(ctx, 2, t), in_as(ctx, 3, t),
            in_as(ctx, 4, t), place});
  finish_as(ctx, 0, place, t);
}

// Every pixel of the result has separate offsets and a separate mask.
void map_axes(AxesContext& ctx) {
  axes::convolution(ctx, 0, 1);
  axes::per_channel(ctx, 3);
  const size_t channels[] = {1};
  for (const size_t i : {2, 4}) axes::same(ctx, i, 0, channels);
  // The place of a result determines where x is sampled.
  for (size_t d = 2; d < ctx.out().size(); d++) ctx.number(0, d);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "DeformConv",
                   .since = 19,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::deform_conv,
                   .facts = {.trial = {"T[1,4,4,4]; T[4,4,1,1]; T[1,2,4,4]"}}};

}  // namespace poprt::ops::deform_conv_op
