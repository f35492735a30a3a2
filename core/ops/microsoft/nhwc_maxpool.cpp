// MaxPool of bytes with the channels last: X is [N, spatial..., C].
#include "kernels/calls/max_pool_bytes.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/window.h"
#include "ops/op.h"

namespace poprt::ops::microsoft_nhwc_maxpool_op {
namespace {

std::vector<int64_t> spatial_of(const Shape& x) { return {x.begin() + 1, x.end() - 1}; }

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() < 3)
    ctx.fail_input("input {} has no spatial dimension", shape_string(x.shape));
  const auto spatial = spatial_of(x.shape);
  Shape y = {x.shape.front()};
  for (const int64_t d : window_output(window_of(ctx.node, spatial), spatial)) y.push_back(d);
  y.push_back(x.shape.back());
  ctx.out(0, x.dtype, std::move(y));
}

void lower(LowerContext& ctx) {
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  const Window w = window_of(ctx.node, spatial_of(x));
  if (w.rank() > 3) ctx.fail_unsupported("more than three spatial dimensions");
  for (size_t d = 0; d < w.rank(); d++)
    if (w.pads_begin[d] < 0 || w.pads_end[d] < 0) ctx.fail_unsupported("negative pads");
  ctx.emit(
      calls::MaxPoolBytes{.n = x.front(),
                          .c = x.back(),
                          .axes = window_axes(w, std::span(x).subspan(1), std::span(y).subspan(1))},
      {ctx.in(0), ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  ctx.carry(0, 0, 0, 0);
  const Shape& x = ctx.in(0);
  ctx.carry(0, x.size() - 1, 0, x.size() - 1);
  axes::windows(ctx, window_of(ctx.node, spatial_of(x)), 1, 1);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "NhwcMaxPool",
                   .domain = "com.microsoft",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::nhwc_max_pool,
                   .facts = {.trial = {"T[1,4,4,4]", "kernel_shape = [2, 2]"}}};

}  // namespace poprt::ops::microsoft_nhwc_maxpool_op
