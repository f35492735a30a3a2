#include "ops/common/pool.h"

#include <array>
#include <cmath>

#include "base/checked.h"
#include "kernels/calls/pool_blocked.h"
#include "ops/common/axes.h"

namespace poprt::ops {
namespace {

std::vector<int64_t> spatial_of(const Shape& x, size_t end) {
  return {x.begin() + 2, x.begin() + static_cast<std::ptrdiff_t>(end)};
}

// The exponent of LpPool. In opset 1 it is a float.
int64_t norm_order(LowerContext& ctx) {
  const ir::Attribute* given = ctx.node.find_attr("p");
  const float* p = given ? std::get_if<float>(given) : nullptr;
  if (!p || ctx.opset() > 1) {
    const int64_t order = ctx.node.int_attr("p", 2);
    if (order < 1) ctx.fail_unsupported("p is {}, expected 1 or more", order);
    return order;
  }
  if (!(*p >= 1 && *p <= 1024 && *p == std::trunc(*p)))
    ctx.fail_unsupported("p is {}, only integers are supported", *p);
  return static_cast<int64_t>(*p);
}

// The spatial dimensions of a blocked value. With three spatial dimensions, its `depth` slices are
// stored one after the other.
std::vector<int64_t> blocked_spatial(const ir::Node& node, const Shape& x) {
  const int64_t depth = node.int_attr("depth", 0);
  if (depth == 0) return spatial_of(x, 4);
  if (depth < 0 || x[2] % depth)
    fail(ErrorCode::invalid_argument, "{}: {} rows are not a multiple of {} slices",
         node.describe(), x[2], depth);
  return {depth, x[2] / depth, x[3]};
}

using PoolAxis = calls::PoolingAxis;

void emit_generic(LowerContext& ctx, PoolKind kind, const Window& w) {
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  const size_t rank = w.rank();
  if (rank > 3) ctx.fail_unsupported("more than three spatial dimensions");
  calls::PoolGeneric call{.kind = kind,
                          .count_padding = ctx.node.int_attr("count_include_pad", 0) != 0,
                          .p = norm_order(ctx),
                          .column_major = ctx.node.int_attr("storage_order", 0) != 0,
                          .planes = checked_mul(x[0], x[1]),
                          .axes = {}};
  for (size_t d = 0; d < rank; d++) {
    if (w.pads_begin[d] < 0 || w.pads_end[d] < 0) ctx.fail_unsupported("negative pads");
    call.axes.push_back({.in = x[d + 2],
                         .out = y[d + 2],
                         .kernel = w.kernel[d],
                         .stride = w.strides[d],
                         .pad = w.pads_begin[d],
                         .pad_end = w.pads_end[d],
                         .dilation = w.dilations[d]});
  }
  // The kernel compares maxima in the output, so it needs one even if only their places are read.
  auto values = ctx.out(0);
  if (values == LowerContext::kNone) values = ctx.temporary(ctx.out_dtype(), y);
  ctx.emit(call, {ctx.in(0), values, ctx.node.output(1) ? ctx.out(1) : LowerContext::kNone});
}

}  // namespace

void infer_pool(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.has_shape) {
    ctx.out_dtype(0, x.dtype);
    return ctx.out_dtype(1, DType::s64);
  }
  if (x.shape.size() < 3)
    ctx.fail_input("input {} has no spatial dimension", shape_string(x.shape));
  if (const int64_t order = ctx.node.int_attr("storage_order", 0); order != 0 && order != 1)
    ctx.fail_input("storage_order is {}, expected 0 or 1", order);
  const auto spatial = spatial_of(x.shape, x.shape.size());
  const auto out = window_output(window_of(ctx.node, spatial), spatial);
  Shape y = {x.shape[0], x.shape[1]};
  y.insert(y.end(), out.begin(), out.end());
  ctx.out(0, x.dtype, y);
  ctx.out(1, DType::s64, y);
}

void lower_pool(LowerContext& ctx, PoolKind kind) {
  emit_generic(ctx, kind, window_of(ctx.node, spatial_of(ctx.in_shape(0), ctx.in_shape(0).size())));
}

void infer_global_pool(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() < 3)
    ctx.fail_input("input {} has no spatial dimension", shape_string(x.shape));
  Shape y(x.shape.size(), 1);
  y[0] = x.shape[0];
  y[1] = x.shape[1];
  ctx.out(0, x.dtype, std::move(y));
}

void lower_global_pool(LowerContext& ctx, PoolKind kind) {
  // All spatial dimensions are flattened to one, so their number is not limited.
  const Shape& x = ctx.in_shape(0);
  const auto spatial = spatial_of(x, x.size());
  const int64_t pixels = element_count(spatial);
  if (pixels == 0) ctx.fail_unsupported("empty input");
  ctx.emit(calls::PoolGeneric{.kind = kind,
                              .count_padding = false,
                              .p = norm_order(ctx),
                              .column_major = false,
                              .planes = checked_mul(x[0], x[1]),
                              .axes = {{.in = pixels, .out = 1, .kernel = pixels}}},
           {ctx.in(0), ctx.out(0), LowerContext::kNone});
}

void infer_blocked_pool(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() != 5 || x.shape[4] != 16)
    ctx.fail_input("input {} is not blocked", shape_string(x.shape));
  const auto spatial = blocked_spatial(ctx.node, x.shape);
  const auto out = window_output(window_of(ctx.node, spatial), spatial);
  const int64_t slices = spatial.size() == 3 ? out[0] : 1;
  ctx.out(0, x.dtype,
          {x.shape[0], x.shape[1], checked_mul(slices, out[out.size() - 2]), out.back(), 16});
}

void lower_blocked_pool(LowerContext& ctx, PoolKind kind) {
  if (ctx.in_dtype(0) != DType::f32) ctx.fail_unsupported("only f32 can be blocked");
  const Shape& x = ctx.in_shape(0);
  const auto in = blocked_spatial(ctx.node, x);
  const Window w = window_of(ctx.node, in);
  const auto out = window_output(w, in);
  const auto emit = [&](program::BufferId from, program::BufferId to, int64_t planes,
                        std::array<PoolAxis, 2> a) {
    ctx.emit(calls::PoolBlocked{.shape = {.planes = planes,
                                          .h = a[0].in,
                                          .w = a[1].in,
                                          .oh = a[0].out,
                                          .ow = a[1].out,
                                          .kh = a[0].kernel,
                                          .kw = a[1].kernel,
                                          .stride_h = a[0].stride,
                                          .stride_w = a[1].stride,
                                          .pad_h = a[0].pad,
                                          .pad_w = a[1].pad,
                                          .pad_h_end = a[0].pad_end,
                                          .pad_w_end = a[1].pad_end,
                                          .dilation_h = a[0].dilation,
                                          .dilation_w = a[1].dilation,
                                          .average = kind == PoolKind::average,
                                          .count_padding =
                                              ctx.node.int_attr("count_include_pad", 0) != 0}},
             {from, to});
  };
  const auto axis = [&](size_t d) {
    return PoolAxis{in[d],           out[d],        w.kernel[d],   w.strides[d],
                    w.pads_begin[d], w.pads_end[d], w.dilations[d]};
  };
  const int64_t planes = checked_mul(x[0], x[1]);
  if (in.size() == 2) return emit(ctx.in(0), ctx.out(0), planes, {axis(0), axis(1)});
  // The first pass pools height and width of every slice, the second one the slices: it treats
  // slices as rows and the pixels of a slice as columns.
  const int64_t pixels = checked_mul(out[1], out[2]);
  const auto slices = ctx.temporary(DType::f32, {planes, in[0], pixels, 16});
  emit(ctx.in(0), slices, checked_mul(planes, in[0]), {axis(1), axis(2)});
  emit(slices, ctx.out(0), planes, {axis(0), PoolAxis{pixels, pixels}});
}

void axes_of_pool(AxesContext& ctx) {
  axes::range(ctx, 0, 0, 2, 0, 0);
  const Shape& x = ctx.in(0);
  // The places of maxima are numbered across all samples and channels, so that the number of
  // channels affects them.
  if (ctx.makes(1)) axes::range(ctx, 0, 0, 1, 1, 0);
  ctx.number(1, 0);
  if (!ctx.makes(1)) axes::windows(ctx, window_of(ctx.node, spatial_of(x, x.size())), 2, 2);
}

void axes_of_global_pool(AxesContext& ctx) {
  axes::range(ctx, 0, 0, 2, 0, 0);
  for (size_t d = 2; d < ctx.in(0).size(); d++) ctx.reduce({{0, d}});
}

void axes_of_blocked_pool(AxesContext& ctx) {
  axes::range(ctx, 0, 0, 2, 0, 0);
  ctx.carry(0, 4, 0, 4);
  const auto spatial = blocked_spatial(ctx.node, ctx.in(0));
  if (spatial.size() == 2) axes::windows(ctx, window_of(ctx.node, spatial), 2, 2);
}

}  // namespace poprt::ops
