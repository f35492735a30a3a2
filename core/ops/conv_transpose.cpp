#include "ops/common/conv_transpose.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/conv_transpose_generic.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"
#include "ops/common/matmul.h"
#include "ops/op.h"

namespace poprt::ops::conv_transpose_op {
namespace {

std::vector<int64_t> spatial_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &w = ctx.in(1);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() < 3)
    ctx.fail_input("input {} has no spatial dimension", shape_string(x.shape));
  Shape y(x.shape.size(), kUnknownDim);
  y[0] = x.shape[0];
  if (w.has_shape && is_static(w.shape)) {
    const int64_t group = ctx.node.int_attr("group", 1);
    if (w.shape.size() != x.shape.size() || group < 1 || w.shape[0] % group ||
        (x.shape[1] >= 0 && x.shape[1] != w.shape[0]))
      ctx.fail_input("input {} in {} groups does not fit weights {}", shape_string(x.shape), group,
                     shape_string(w.shape));
    y[1] = checked_mul(w.shape[1], group);
    if (ctx.has(2) && ctx.in(2).is_static() && ctx.in(2).shape != Shape{y[1]})
      ctx.fail_input("bias {} does not fit weights {} in {} groups", shape_string(ctx.in(2).shape),
                     shape_string(w.shape), group);
    const auto out = transposed_window_of(ctx.node, spatial_of(x.shape), spatial_of(w.shape)).out;
    std::copy(out.begin(), out.end(), y.begin() + 2);
  }
  ctx.out(0, x.dtype, std::move(y));
}

// An input of one pixel is a row, which the weights [C, M * kh * kw] multiply.
bool lower_as_matmul(LowerContext& ctx, const Window& win, int64_t group) {
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  const Tensor *w = ctx.constant(1), *bias = ctx.constant(2);
  const auto is_one = [](int64_t d) { return d == 1; };
  if (group != 1 || !w || (ctx.has(2) && !bias) || ctx.out_dtype() != DType::f32 ||
      !std::all_of(x.begin() + 2, x.end(), is_one) ||
      !std::equal(y.begin() + 2, y.end(), win.kernel.begin(), win.kernel.end()) ||
      !std::ranges::all_of(win.dilations, is_one) ||
      !std::ranges::all_of(win.pads_begin, [](int64_t d) { return d == 0; }))
    return false;
  PackedMatmul p;
  p.m = x[0];
  p.k = x[1];
  p.n = element_count(y) / y[0];
  p.b = *w;
  p.b_k = p.n;
  p.b_n = 1;
  if (bias) {
    const int64_t taps = p.n / y[1];
    p.bias = Tensor::zeros(DType::f32, {p.n});
    for (int64_t i = 0; i < p.n; i++)
      p.bias.mutable_values<float>()[static_cast<size_t>(i)] =
          bias->values<float>()[static_cast<size_t>(i / taps)];
  }
  p.a = ctx.in(0);
  p.c = ctx.out(0);
  lower_packed_matmul(ctx, p);
  return true;
}

void lower(LowerContext& ctx) {
  const Shape &x = ctx.in_shape(0), &w = ctx.in_shape(1), &y = ctx.out_shape();
  const Window win = transposed_window_of(ctx.node, spatial_of(x), spatial_of(w)).window;
  if (win.rank() > 3) ctx.fail_unsupported("more than three spatial dimensions");
  if (element_count(y) == 0) return;
  const int64_t group = ctx.node.int_attr("group", 1);
  if (lower_as_matmul(ctx, win, group)) return;
  ctx.emit(calls::ConvTransposeGeneric{.conv = {.n = x[0],
                                                .groups = group,
                                                .c = w[0] / group,
                                                .m = w[1],
                                                .axes = window_axes(win, std::span(x).subspan(2),
                                                                    std::span(y).subspan(2))}},
           {ctx.in(0), ctx.in(1), ctx.has(2) ? ctx.in(2) : LowerContext::kNone, ctx.out(0)});
}

// If windows do not overlap, each place of the result depends on one place of x.
void map_axes(AxesContext& ctx) {
  const Shape &x = ctx.in(0), &w = ctx.in(1), &y = ctx.out();
  const int64_t group = std::max<int64_t>(ctx.node.int_attr("group", 1), 1);
  ctx.carry(0, 0, 0, 0);
  axes::per_channel(ctx, 2);
  if (group == 1) {
    ctx.carry(1, 1, 0, 1);
    ctx.reduce({{0, 1}, {1, 0}});
  } else {
    axes::grouped(ctx, {{0, 1}, x[1] / group, 0, 1, y[1] / group, group});
    axes::grouped(ctx, {{1, 0}, x[1] / group, 0, 1, y[1] / group, group});
    axes::grouped(ctx, {{1, 1}, 1, 0, 1, 1, w[1]});
  }
  const Window window =
      transposed_window_of(ctx.node, {x.begin() + 2, x.end()}, {w.begin() + 2, w.end()}).window;
  for (size_t d = 0; d < window.rank(); d++)
    if (window.kernel[d] == window.strides[d] && window.dilations[d] == 1 &&
        window.pads_begin[d] == 0)
      ctx.link({0, d + 2, 0, d + 2, kNoRepeat, 1, window.kernel[d]});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ConvTranspose",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::conv_transpose,
                   .packs = 0b110,
                   .facts = {.weight_inputs = 0b110,
                             .flops = flops::conv_transpose,
                             .trial = {"T[1,4,4,4]; T[4,4,1,1]"}}};

}  // namespace poprt::ops::conv_transpose_op
