#include "base/checked.h"
#include "kernels/calls/conv_generic.h"
#include "kernels/calls/conv_nd.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/window.h"
#include "ops/op.h"

namespace poprt::ops::conv_op {
namespace {

std::vector<int64_t> spatial_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &w = ctx.in(1);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  const size_t rank = x.shape.size();
  if (rank < 3) ctx.fail_input("input {} has no spatial dimension", shape_string(x.shape));
  Shape y(rank, kUnknownDim);
  y[0] = x.shape[0];
  const bool known = w.has_shape && is_static(w.shape);
  if (w.has_shape) {
    if (w.shape.size() != rank)
      ctx.fail_input("input {} does not fit weights {}", shape_string(x.shape),
                     shape_string(w.shape));
    const int64_t group = ctx.node.int_attr("group", 1);
    if (group < 1 ||
        (known && (w.shape[0] % group || (x.shape[1] >= 0 && x.shape[1] != w.shape[1] * group))))
      ctx.fail_input("input {} in {} groups does not fit weights {}", shape_string(x.shape), group,
                     shape_string(w.shape));
    y[1] = w.shape[0];
  }
  if (ctx.has(2) && ctx.in(2).has_shape && known && is_static(ctx.in(2).shape) &&
      ctx.in(2).shape != Shape{w.shape[0]})
    ctx.fail_input("bias {} does not fit weights {}", shape_string(ctx.in(2).shape),
                   shape_string(w.shape));
  if (known || ctx.node.find_attr("kernel_shape")) {
    const auto spatial = spatial_of(x.shape);
    const auto out = window_output(
        window_of(ctx.node, spatial, known ? spatial_of(w.shape) : std::vector<int64_t>{}),
        spatial);
    std::copy(out.begin(), out.end(), y.begin() + 2);
  }
  ctx.out(0, x.dtype, std::move(y));
}

void lower(LowerContext& ctx) {
  const Shape &x = ctx.in_shape(0), &w = ctx.in_shape(1), &y = ctx.out_shape();
  const Window win = window_of(ctx.node, spatial_of(x), spatial_of(w));
  if (element_count(y) == 0) return;
  const int64_t group = ctx.node.int_attr("group", 1);
  const auto axes = window_axes(win, std::span(x).subspan(2), std::span(y).subspan(2));
  if (win.rank() > 3) {
    const DType t = real_type(ctx);
    const auto place = out_as(ctx, 0, t);
    ctx.emit(calls::ConvNd{.n = x[0], .groups = group, .c = w[1], .m = w[0] / group, .axes = axes},
             {in_as(ctx, 0, t), in_as(ctx, 1, t), in_as(ctx, 2, t), place});
    return finish_as(ctx, 0, place, t);
  }
  ctx.emit(
      calls::ConvGeneric{
          .conv = {.n = x[0], .groups = group, .c = w[1], .m = w[0] / group, .axes = axes}},
      {ctx.in(0), ctx.in(1), ctx.has(2) ? ctx.in(2) : LowerContext::kNone, ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  axes::convolution(ctx, 0, 1);
  axes::per_channel(ctx, 2);
  const Shape &x = ctx.in(0), &w = ctx.in(1);
  axes::windows(ctx, window_of(ctx.node, {x.begin() + 2, x.end()}, {w.begin() + 2, w.end()}), 2, 2);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Conv",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::conv,
                   .packs = 0b110,
                   .facts = {.layer = LayerForm::conv,
                             .weight_inputs = 0b110,
                             .flops = flops::conv,
                             .trial = {"T[1,4,4,4]; T[4,4,1,1]"}}};

}  // namespace poprt::ops::conv_op
