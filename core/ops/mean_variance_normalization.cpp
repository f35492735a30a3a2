// (x - mean) / (deviation + 1e-9) over the axes (default 0, 2, 3). Before opset 9 the operator was
// experimental: the axes are 0, 2, 3, or all axes with across_channels = 1; with normalize_variance
// = 0 only the mean is subtracted.
#include "kernels/calls/reduce.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/elementwise.h"
#include "ops/common/flops.h"
#include "ops/common/reduce.h"

namespace poprt::ops::mean_variance_normalization_op {
namespace {

std::vector<int64_t> axes_of(const ir::Node& node) {
  if (node.opset() >= 9) return node.ints_attr("axes", {0, 2, 3});
  return node.int_attr("across_channels", 0) ? std::vector<int64_t>{0, 1, 2, 3}
                                             : std::vector<int64_t>{0, 2, 3};
}

void lower(LowerContext& ctx) {
  const auto rank = static_cast<int64_t>(ctx.in_shape(0).size());
  if (ctx.opset() < 9 && rank != 4)
    ctx.fail_unsupported("the input should be an image [N,C,H,W], its rank is {}", rank);
  calls::Reduce average{.kind = kernels::Reduction::mean, .axes = {}};
  Shape small = ctx.in_shape(0);
  for (const int64_t axis : axes_of(ctx.node)) {
    average.axes.push_back(normalize_axis(axis, rank));
    small[static_cast<size_t>(average.axes.back())] = 1;
  }
  using Buffers = std::vector<LowerContext::BufferId>;
  const bool scaled = ctx.opset() >= 9 || ctx.node.int_attr("normalize_variance", 1) != 0;
  const DType t = real_type(ctx);
  const auto x = in_as(ctx, 0, t), y = out_as(ctx, 0, t);
  const auto mean = ctx.temporary(t, small);
  ctx.emit(average, {x, mean});
  ElementwiseProgram center;
  const auto whole = center.add_input(), middle = center.add_input();
  const auto d = center.step(ElementwiseOp::sub, whole, middle);
  center.add_output(d, t);
  if (!scaled) {
    emit_program(ctx, center, Buffers{x, mean, y}, t);
    return finish_as(ctx, 0, y, t);
  }
  const auto variance = ctx.temporary(t, small);
  const auto centered = ctx.temporary(t, ctx.in_shape(0)),
             squares = ctx.temporary(t, ctx.in_shape(0));
  center.add_output(center.step(ElementwiseOp::square, d), t);
  emit_program(ctx, center, Buffers{x, mean, centered, squares}, t);
  ctx.emit(average, {squares, variance});
  ElementwiseProgram scale;
  const auto c = scale.add_input(), v = scale.add_input();
  scale.add_output(scale.step(ElementwiseOp::div, c,
                              scale.step(ElementwiseOp::add, scale.step(ElementwiseOp::sqrt, v),
                                         scale.constant(1e-9f))),
                   t);
  emit_program(ctx, scale, Buffers{centered, variance, y}, t);
  finish_as(ctx, 0, y, t);
}

void map_axes(AxesContext& ctx) {
  std::vector<size_t> mixed;
  for (const int64_t a : axes_of(ctx.node))
    mixed.push_back(static_cast<size_t>(normalize_axis(a, static_cast<int64_t>(ctx.in(0).size()))));
  axes::same(ctx, 0, 0, mixed);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "MeanVarianceNormalization",
                   .infer = [](InferContext& c) { c.out(0, c.in(0)); },
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::layer_normalization,
                   .facts = {.flops = flops::normalization}};

}  // namespace poprt::ops::mean_variance_normalization_op
