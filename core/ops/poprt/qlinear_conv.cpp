// poprt.QLinearConv: QLinearConv of ai.onnx with the channels last. x is [N, spatial..., C] and y
// [N, spatial..., M]; the weights keep the layout [M, C, spatial...].
//
// All inputs except x and the residual are constant. There is one group, or one group for each
// channel if the number of channels is a multiple of 16. The weights are symmetric.
//
// Five additional inputs are possible: residual (like y), residual_scale, residual_zero_point,
// sum_scale, sum_zero_point. The result is then the sum of the real values of y and the residual,
// quantised to bytes; with activation "Relu" it is at least 0.
//
// Attributes `least` and `most` bound the bytes before that sum.
#include <algorithm>

#include "kernels/calls/conv_bytes.h"
#include "kernels/common/pack_vnni.h"
#include "ops/common/axes.h"
#include "ops/common/flops.h"
#include "ops/common/quantized_conv.h"
#include "ops/common/window.h"
#include "ops/op.h"

namespace poprt::ops::poprt_qlinear_conv_op {
namespace {

enum Input : size_t {
  kX,
  kXScale,
  kXZero,
  kW,
  kWScale,
  kWZero,
  kYScale,
  kYZero,
  kBias,
  kResidual,
  kResidualScale,
  kResidualZero,
  kSumScale,
  kSumZero
};

std::vector<int64_t> spatial_of(const Shape& x) { return {x.begin() + 1, x.end() - 1}; }
std::vector<int64_t> kernel_of(const Shape& w) { return {w.begin() + 2, w.end()}; }

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(kX), &w = ctx.in(kW);
  const DType result = ctx.in(ctx.has(kResidual) ? kSumZero : kYZero).dtype;
  if (!w.is_static()) ctx.fail_input("weights must be static");
  if (!x.has_shape) return ctx.out_dtype(0, result);
  if (x.shape.size() < 3 || w.shape.size() != x.shape.size() ||
      x.shape.back() != w.shape[1] * ctx.node.int_attr("group", 1))
    ctx.fail_input("input {} does not fit weights {}", shape_string(x.shape),
                   shape_string(w.shape));
  const auto spatial = spatial_of(x.shape);
  Shape y = {x.shape.front()};
  for (const int64_t d : window_output(window_of(ctx.node, spatial, kernel_of(w.shape)), spatial))
    y.push_back(d);
  y.push_back(w.shape[0]);
  ctx.out(0, result, std::move(y));
}

// Element i of a constant scale or zero point, which may have a single element for all i.
double number(const Tensor& t, int64_t i) {
  const auto values = t.to_doubles();
  return values[values.size() == 1 ? 0 : static_cast<size_t>(i)];
}

// The number of rows of one line of taps in the matrix of kernel conv_bytes, padded to quads.
int64_t rows_of_line(const Shape& w) { return (w.back() * w[1] + 3) / 4 * 4; }
int64_t rows_of_matrix(const Shape& w) {
  return element_count(std::span(w).subspan(2)) / w.back() * rows_of_line(w);
}

// Converts weights [M, C, taps] to the columns of that matrix.
std::vector<std::byte> as_matrix(const Tensor& w) {
  const Shape& s = w.shape();
  const int64_t m = s[0], c = s[1], taps = element_count(std::span(s).subspan(2));
  const std::byte zero = w.dtype() == DType::s8 ? std::byte{0} : std::byte{0x80};
  std::vector<std::byte> matrix(static_cast<size_t>(rows_of_matrix(s) * m), zero);
  const auto* from = static_cast<const std::byte*>(w.data());
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < c; j++)
      for (int64_t t = 0; t < taps; t++) {
        const int64_t row = t / s.back() * rows_of_line(s) + t % s.back() * c + j;
        matrix[static_cast<size_t>(row * m + i)] = from[(i * c + j) * taps + t];
      }
  return matrix;
}

// Packs weights [C, 1, taps] for kernel conv_bytes.
void pack_channels(const Tensor& w, std::span<int8_t> to) {
  constexpr int64_t kColumns = kernels::kPackedVnniColumns;
  const int64_t c = w.shape()[0], taps = element_count(w.shape()) / c, width = w.shape().back();
  const int64_t lines = taps / width, panel = kernels::channel_panel_bytes(width, lines);
  const bool is_signed = w.dtype() == DType::s8;
  const auto* from = static_cast<const uint8_t*>(w.data());
  std::fill(to.begin(), to.end(), int8_t{0});
  for (int64_t i = 0; i < c; i++)
    for (int64_t t = 0; t < taps; t++) {
      const int64_t line = t / width, quad = t % width * ((lines + 3) / 4) + line / 4;
      const int64_t place = i % 16 / 4 * 16 + i % kColumns / 16 * 4 + i % 4;
      const uint8_t byte = from[i * taps + t];
      to[static_cast<size_t>(i / kColumns * panel + (quad * kColumns + place) * 4 + line % 4)] =
          static_cast<int8_t>(is_signed ? byte : byte - 128);
    }
}

// Packs the weights of all taps and channels into panels of quads.
struct PackedRows {
  int64_t rows, m;
  bool operator==(const PackedRows&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    const Tensor& w = from[0];
    kernels::pack_vnni_columns(as_matrix(w), w.dtype() == DType::s8, rows, m, to);
  }
};

LowerContext::BufferId pack_weights(LowerContext& ctx, const Tensor& w, int64_t depth) {
  const int64_t m = w.shape()[0];
  if (ctx.node.int_attr("group", 1) != 1) {
    const int64_t width = w.shape().back();
    const int64_t bytes =
        kernels::vnni_panels(m) * kernels::channel_panel_bytes(width, depth / width);
    return ctx.pack(DType::s8, {bytes},
                    {{w}, [](program::WeightForm::Sources from, program::WeightForm::Bytes to) {
                       pack_channels(from[0], program::as_array<int8_t>(to));
                     }});
  }
  const int64_t rows = rows_of_matrix(w.shape());
  const int64_t bytes = kernels::packed_vnni_bytes(rows, m);
  return ctx.pack(DType::s8, {bytes}, {{w}, PackedRows{rows, m}});
}

struct Constants {
  std::vector<int32_t> offsets;
  std::vector<float> scales;
};

// bias - x_zero * sum of the weights, and x_scale * w_scale / y_scale, rounded as requantize does.
Constants constants_of(const LowerContext& ctx, const Tensor& w, int64_t depth) {
  const int64_t m = w.shape()[0];
  const bool x_signed = ctx.in_dtype(kX) == DType::s8, w_signed = w.dtype() == DType::s8;
  const auto columns = static_cast<size_t>(kernels::vnni_panels(m) * kernels::kPackedVnniColumns);
  Constants k{std::vector<int32_t>(columns), std::vector<float>(columns)};
  std::vector<int32_t> sums(static_cast<size_t>(m));
  kernels::sum_vnni_rows({static_cast<const std::byte*>(w.data()), w.bytes()}, w_signed, m, depth,
                         sums);
  const auto zero = static_cast<uint32_t>(static_cast<int32_t>(number(*ctx.constant(kXZero), 0)) +
                                          (x_signed ? 128 : 0));
  const std::vector<double> w_scales = ctx.constant(kWScale)->to_doubles();
  const auto x_scale = static_cast<float>(number(*ctx.constant(kXScale), 0)),
             y_scale = static_cast<float>(number(*ctx.constant(kYScale), 0));
  for (size_t i = 0; i < sums.size(); i++) {
    const int32_t bias = ctx.has(kBias) ? ctx.constant(kBias)->values<int32_t>()[i] : 0;
    k.offsets[i] =
        static_cast<int32_t>(static_cast<uint32_t>(bias) - zero * static_cast<uint32_t>(sums[i]));
    const auto w_scale = static_cast<float>(w_scales[w_scales.size() == 1 ? 0 : i]);
    k.scales[i] = x_scale * w_scale / y_scale;
  }
  return k;
}

template <class T>
LowerContext::BufferId pack_numbers(LowerContext& ctx, const std::vector<T>& values) {
  return ctx.pack(Tensor::of<T>({static_cast<int64_t>(values.size())}, std::span<const T>(values)));
}

void lower(LowerContext& ctx) {
  if (!channels_last_conv_fits(ctx.node, true))
    ctx.fail_unsupported("scales, zero points and bias must be constant, and weights symmetric");
  const Shape &x = ctx.in_shape(kX), &y = ctx.out_shape();
  if (element_count(y) == 0) return;
  const Tensor w = *ctx.constant(kW);
  const int64_t m = w.shape()[0], depth = element_count(w.shape()) / m;
  const Window window = window_of(ctx.node, spatial_of(x), kernel_of(w.shape()));
  const auto panels = pack_weights(ctx, w, depth);
  const Constants k = constants_of(ctx, w, depth);
  const auto offsets = pack_numbers(ctx, k.offsets);
  const auto scales = pack_numbers(ctx, k.scales);
  const bool residual = ctx.has(kResidual);
  const auto zero = [&](size_t i) {
    return ctx.has(i) ? static_cast<int64_t>(number(*ctx.constant(i), 0)) : 0;
  };
  const auto scale = [&](size_t i) {
    return ctx.has(i) ? static_cast<float>(number(*ctx.constant(i), 0)) : 1.0f;
  };
  calls::ConvBytes call{.n = x.front(),
                        .c = x.back(),
                        .m = m,
                        .groups = ctx.node.int_attr("group", 1),
                        .x_zero = zero(kXZero),
                        .y_zero = zero(kYZero),
                        .residual_zero = zero(kResidualZero),
                        .sum_zero = zero(kSumZero),
                        .relu = ctx.node.string_attr("activation", "") == "Relu",
                        .is_signed = ctx.in_dtype(kYZero) == DType::s8,
                        .axes = {},
                        .y_scale = scale(kYScale),
                        .residual_scale = scale(kResidualScale),
                        .sum_scale = scale(kSumScale)};
  if (ctx.node.find_attr("least") || ctx.node.find_attr("most")) {
    const int64_t low = call.is_signed ? -128 : 0;
    call.range = {.least = std::max(low, ctx.node.int_attr("least", low)),
                  .most = std::min(low + 255, ctx.node.int_attr("most", low + 255))};
  }
  for (size_t d = 0; d < window.rank(); d++)
    call.axes.push_back({.in = x[d + 1],
                         .out = y[d + 1],
                         .kernel = window.kernel[d],
                         .stride = window.strides[d],
                         .pad = window.pads_begin[d],
                         .dilation = window.dilations[d]});
  const LowerContext::BufferId operands[] = {
      ctx.in(kX), panels, offsets, scales, residual ? ctx.in(kResidual) : LowerContext::kNone,
      ctx.out(0)};
  ctx.emit(std::move(call), operands);
}

void map_axes(AxesContext& ctx) {
  ctx.carry(0, 0, 0, 0);
  const size_t last = ctx.out().size() - 1;
  ctx.carry(3, 0, 0, last);
  for (const size_t i : {4, 5, 8}) axes::per_channel(ctx, i, last);
  axes::same(ctx, 9, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "QLinearConv",
    .domain = "poprt",
    .infer = infer,
    .lower = lower,
    .axes = map_axes,
    .facts = {.f32_inputs = ~0u,
              .flops = flops::qlinear_conv,
              .trial = {"T[1,4,4,4]; f32[]; T[]; s8[4,4,1,1]; f32[]; s8[] = 0; f32[]; T[]"}}};

}  // namespace poprt::ops::poprt_qlinear_conv_op
