// Triangles of equal width on the mel scale, 2595 log10(1 + f / 700), as a matrix [dft_length / 2 +
// 1, num_mel_bins]. All inputs must be constant.
#include <algorithm>
#include <cmath>

#include "base/onnx_dtype.h"
#include "ops/common/axes.h"
#include "ops/common/constant_result.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::mel_weight_matrix_op {
namespace {

void infer(InferContext& ctx) {
  const auto dtype = dtype_from_onnx(ctx.node.int_attr("output_datatype", 1));
  if (!dtype) ctx.fail_unsupported("output_datatype {}", ctx.node.int_attr("output_datatype", 1));
  const auto bins = ctx.ints(0), length = ctx.ints(1);
  const auto one = [](const auto& v) { return v && v->size() == 1; };
  constexpr int64_t kLimit = int64_t{1} << 24;
  if ((bins && (!one(bins) || bins->at(0) < 0 || bins->at(0) > kLimit)) ||
      (length && (!one(length) || length->at(0) < 0 || length->at(0) > kLimit)))
    ctx.fail_input("num_mel_bins and dft_length must be single numbers from 0 to {}", kLimit);
  if (bins && length && (length->at(0) / 2 + 1) * bins->at(0) > kLimit * 4)
    ctx.fail_input("more than {} weights", kLimit * 4);
  ctx.out(0, *dtype,
          {length ? length->at(0) / 2 + 1 : kUnknownDim, bins ? bins->at(0) : kUnknownDim});
}

void lower(LowerContext& ctx) {
  for (size_t i = 0; i < 5; i++)
    if (!ctx.constant(i) || ctx.constant(i)->count() != 1)
      ctx.fail_unsupported("all inputs must be constant numbers");
  const int64_t bins = ctx.out_shape()[1], rows = ctx.out_shape()[0];
  const auto length = static_cast<double>(ctx.ints(1)->at(0));
  const auto rate = static_cast<double>(ctx.ints(2)->at(0));
  const auto mel = [](double f) { return 2595 * std::log10(1 + f / 700); };
  const double low = mel(ctx.constant(3)->to_doubles()[0]);
  const double high = mel(ctx.constant(4)->to_doubles()[0]);
  std::vector<int64_t> edges;
  const double step = (high - low) / static_cast<double>(bins + 2);
  for (int64_t i = 0; i < bins + 2; i++) {
    const double f = 700 * (std::pow(10, (static_cast<double>(i) * step + low) / 2595) - 1);
    const double edge = std::floor((length + 1) * f / rate);
    if (!(std::abs(edge) < 1e15)) ctx.fail_unsupported("frequencies are out of range");
    edges.push_back(static_cast<int64_t>(edge));
  }
  std::vector<double> values(static_cast<size_t>(rows * bins), 0);
  // Edges may be far outside the rows.
  const auto row_of = [rows](int64_t edge) { return std::clamp<int64_t>(edge, 0, rows); };
  const auto set = [&](int64_t row, int64_t bin, double v) {
    if (row >= 0 && row < rows) values[static_cast<size_t>(row * bins + bin)] = v;
  };
  for (int64_t b = 0; b < bins; b++) {
    const auto i = static_cast<size_t>(b);
    const int64_t from = edges[i], center = edges[i + 1], to = edges[i + 2];
    if (center == from) set(center, b, 1);
    for (int64_t j = row_of(from); center != from && j < row_of(center + 1); j++)
      set(j, b, static_cast<double>(j - from) / static_cast<double>(center - from));
    for (int64_t j = row_of(center); j < row_of(to); j++)
      set(j, b, static_cast<double>(to - j) / static_cast<double>(to - center));
  }
  emit_constant(ctx, 0, values);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "MelWeightMatrix",
    .since = 17,
    .infer = infer,
    .lower = lower,
    .axes = axes::by_place,
    .cost = cost::mel_weight_matrix,
    .facts = {.constant_inputs = 0b11111,
              .trial = {"T[]; s64[] = 16; s64[] = 8192; f32[] = 0.0; f32[] = 4096.0"}}};

}  // namespace poprt::ops::mel_weight_matrix_op
