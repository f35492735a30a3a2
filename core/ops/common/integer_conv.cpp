#include "ops/common/integer_conv.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/conv_integer.h"
#include "kernels/calls/conv_vnni.h"
#include "kernels/calls/interleave_bytes.h"
#include "kernels/common/pack_vnni.h"
#include "ops/common/window.h"

namespace poprt::ops {
namespace {

std::vector<int64_t> spatial_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

bool is_signed(const Tensor& bytes) { return bytes.dtype() == DType::s8; }

// Packs [m, c, taps] bytes.
struct VnniRows {
  int64_t m, c, taps;
  bool operator==(const VnniRows&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    kernels::pack_vnni_rows(program::bytes_of(from[0]), is_signed(from[0]), m, c, taps, to);
  }
};
struct VnniRowSums {
  int64_t m, row;
  bool operator==(const VnniRowSums&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    kernels::sum_vnni_rows(program::bytes_of(from[0]), is_signed(from[0]), m, row,
                           program::as_array<int32_t>(to));
  }
};

}  // namespace

void infer_integer_conv(InferContext& ctx, size_t xi, size_t wi, DType result) {
  const ir::ValueType &x = ctx.in(xi), &w = ctx.in(wi);
  for (const ir::ValueType* t : {&x, &w})
    if (t->dtype != DType::undefined && t->dtype != DType::u8 && t->dtype != DType::s8)
      ctx.fail_unsupported("an operand is {}, expected u8 or s8", dtype_name(t->dtype));
  if (!x.has_shape || !w.has_shape || !is_static(w.shape)) return ctx.out_dtype(0, result);
  const int64_t group = ctx.node.int_attr("group", 1);
  if (x.shape.size() < 3 || w.shape.size() != x.shape.size() || group < 1 || w.shape[0] % group ||
      (x.shape[1] >= 0 && x.shape[1] != w.shape[1] * group))
    ctx.fail_input("input {} in {} groups does not fit weights {}", shape_string(x.shape), group,
                   shape_string(w.shape));
  const auto spatial = spatial_of(x.shape);
  const auto out = window_output(window_of(ctx.node, spatial, spatial_of(w.shape)), spatial);
  Shape y = {x.shape[0], w.shape[0]};
  y.insert(y.end(), out.begin(), out.end());
  ctx.out(0, result, std::move(y));
}

void lower_integer_conv(LowerContext& ctx, size_t xi, size_t wi, size_t x_zero, size_t w_zero,
                        size_t bias, std::optional<Requantize> result) {
  const Shape &x = ctx.in_shape(xi), &w = ctx.in_shape(wi), &y = ctx.out_shape();
  const auto rank = x.size() - 2;
  if (rank > 3) ctx.fail_unsupported("more than three spatial dimensions");
  if (element_count(y) == 0) return;
  const int64_t group = ctx.node.int_attr("group", 1);
  const Window window = window_of(ctx.node, spatial_of(x), spatial_of(w));
  const int64_t zeros = ctx.has(w_zero) ? element_count(ctx.in_shape(w_zero)) : 1;
  if (zeros != 1 && zeros != w[0])
    ctx.fail_unsupported("zero point {} must have one element or {}",
                         shape_string(ctx.in_shape(w_zero)), w[0]);
  const auto optional = [&](size_t i) { return ctx.has(i) ? ctx.in(i) : LowerContext::kNone; };
  // Constant weights are packed for a kernel that reads four channels at a time.
  const Tensor* weights = ctx.constant(wi);
  if (weights && w[1] > 1) {
    const int64_t taps = element_count(std::span(w).subspan(2)), quads = (w[1] + 3) / 4;
    calls::InterleaveBytes padding{.groups = checked_mul(x[0], group), .c = w[1], .axes = {}};
    calls::ConvVnni call{.n = x[0],
                         .groups = group,
                         .c = w[1],
                         .m = w[0] / group,
                         .x_signed = ctx.in_dtype(xi) == DType::s8,
                         .w_signed = is_signed(*weights),
                         .w_filters = zeros != 1,
                         .axes = {}};
    int64_t plane = 1;
    bool fits = true;
    for (size_t d = 0; d < rank; d++) {
      const int64_t reach =
          (y[d + 2] - 1) * window.strides[d] + (window.kernel[d] - 1) * window.dilations[d] + 1;
      const int64_t pad = window.pads_begin[d];
      const int64_t padded = std::max(reach, pad + x[d + 2]);
      fits = fits && pad >= 0;
      plane = checked_mul(plane, padded);
      padding.axes.push_back({.in = x[d + 2], .pad = pad, .padded = padded});
      call.axes.push_back({.padded = padded,
                           .out = y[d + 2],
                           .kernel = window.kernel[d],
                           .stride = window.strides[d],
                           .dilation = window.dilations[d]});
    }
    const int64_t bytes = checked_mul(checked_mul(plane, quads), int64_t{4});
    if (fits && bytes < (int64_t{1} << 31)) {
      const auto packed =
          ctx.pack(DType::s8, {w[0], quads * taps * 4}, {{*weights}, VnniRows{w[0], w[1], taps}});
      const auto row_sums =
          ctx.pack(DType::s32, {w[0]}, {{*weights}, VnniRowSums{w[0], w[1] * taps}});
      const auto interleaved = ctx.temporary(
          DType::u8, {checked_mul(padding.groups, bytes) + 4 * kernels::kPackedVnniColumns});
      ctx.emit(padding, {ctx.in(xi), optional(x_zero), interleaved});
      std::vector<program::BufferId> operands = {
          interleaved, packed, row_sums, optional(x_zero), optional(w_zero), optional(bias)};
      if (result)
        operands.insert(operands.end(),
                        {result->a_scale, result->b_scale, result->y_scale, result->y_zero});
      operands.push_back(ctx.out(0));
      ctx.emit(call, operands);
      return;
    }
  }
  const auto sums = result ? ctx.temporary(DType::s32, y) : ctx.out(0);
  ctx.emit(calls::ConvInteger{.w_filters = zeros != 1,
                              .conv = {.n = x[0],
                                       .groups = group,
                                       .c = w[1],
                                       .m = w[0] / group,
                                       .axes = window_axes(window, std::span(x).subspan(2),
                                                           std::span(y).subspan(2))}},
           {ctx.in(xi), ctx.in(wi), optional(x_zero), optional(w_zero), optional(bias), sums});
  if (!result) return;
  result->sums = sums;
  emit_requantize(ctx, *result);
}

}  // namespace poprt::ops
