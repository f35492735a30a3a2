// MaxPool of bytes with channels last: X [N, spatial..., C].
#include "ops/common/window.h"
#include "ops/op.h"

namespace poprt::ops {
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
  std::vector<int64_t> ints = {x.front(), x.back(), static_cast<int64_t>(w.rank())};
  for (size_t d = 0; d < w.rank(); d++) {
    if (w.pads_begin[d] < 0 || w.pads_end[d] < 0) ctx.fail_unsupported("negative pads");
    ints.insert(ints.end(),
                {x[d + 1], y[d + 1], w.kernel[d], w.strides[d], w.pads_begin[d], w.dilations[d]});
  }
  const LowerContext::BufferId operands[] = {ctx.in(0), ctx.out(0)};
  ctx.emit("max_pool_bytes", operands, ints);
}

}  // namespace

extern const OpDef microsoft_nhwc_maxpool_op;
const OpDef microsoft_nhwc_maxpool_op = {
    .name = "NhwcMaxPool", .domain = "com.microsoft", .infer = infer, .lower = lower};

}  // namespace poprt::ops
