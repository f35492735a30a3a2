#include "ops/common/conv.h"

#include <algorithm>

#include "kernels/common/transposed_phases.h"
#include "ops/common/conv_kernel.h"
#include "ops/common/conv_transpose.h"

namespace poprt::ops {
namespace {

bool static_f32(const ir::Value* v, size_t rank) {
  return v && v->dtype() == DType::f32 && v->type.is_static() && v->shape().size() == rank &&
         std::all_of(v->shape().begin(), v->shape().end(), [](int64_t d) { return d > 0; });
}

std::vector<int64_t> spatial_of(const ir::Value* v) {
  return {v->shape().begin() + 2, v->shape().end()};
}

bool optional_constant(const ir::Value* v) {
  return !v || (v->is_constant() && v->dtype() == DType::f32);
}

}  // namespace

bool poprt_conv_supported(const ir::Node& conv) {
  constexpr int64_t kPixelsWorthPacking = 16;
  const ir::Value *x = conv.input(0), *w = conv.input(1), *y = conv.output(0);
  if (!x || !x->type.is_static()) return false;
  const size_t rank = x->shape().size();
  if (rank < 3 || rank > 5 || !static_f32(x, rank) || !static_f32(w, rank) ||
      !static_f32(y, rank) || (conv.input(2) && !static_f32(conv.input(2), 1)))
    return false;
  const bool constant = w->is_constant() && optional_constant(conv.input(2));
  if (!constant && element_count(y->shape()) / y->shape()[1] < kPixelsWorthPacking) return false;
  const int64_t group = conv.int_attr("group", 1), c = x->shape()[1], m = w->shape()[0];
  if (group < 1 || c % group || m % group || w->shape()[1] != c / group) return false;
  for (const int64_t pad : window_of(conv, spatial_of(x), spatial_of(w)).pads_begin)
    if (pad < 0) return false;
  if (group == 1) return true;
  ConvProblem p;
  p.groups = group;
  p.c = c / group;
  p.m = m / group;
  p.deep = rank == 5;
  return c >= 16 && (conv_kernel_exists(p) || pairs_groups(conv));
}

bool pairs_groups(const ir::Node& conv) {
  const ir::Value* w = conv.input(1);
  const int64_t group = conv.int_attr("group", 1);
  if (group % 2 || !w->is_constant()) return false;
  ConvProblem p;
  p.groups = group;
  p.c = w->shape()[1];
  p.m = w->shape()[0] / group;
  p.deep = w->shape().size() == 5;
  return !conv_kernel_exists(p) && p.c % 8 == 0 && p.m % 8 == 0;
}

bool is_plain_transpose(const ir::Node& conv) {
  const Shape &x = conv.input(0)->shape(), &k = conv.input(1)->shape();
  const std::vector<int64_t> kernel(k.begin() + 2, k.end());
  const auto t = transposed_window_of(conv, spatial_of(conv.input(0)), kernel);
  if (conv.int_attr("group", 1) != 1) return false;
  for (size_t d = 0; d < kernel.size(); d++)
    if (t.window.strides[d] != kernel[d] || t.window.dilations[d] != 1 ||
        t.window.pads_begin[d] != 0 || t.out[d] != x[d + 2] * kernel[d])
      return false;
  return true;
}

bool poprt_conv_transpose_supported(const ir::Node& conv) {
  const ir::Value *x = conv.input(0), *w = conv.input(1), *y = conv.output(0);
  if (!x || !x->type.is_static()) return false;
  const size_t rank = x->shape().size();
  if (rank < 3 || rank > 5 || !static_f32(x, rank) || !static_f32(w, rank) ||
      !static_f32(y, rank) || !w->is_constant() || !optional_constant(conv.input(2)))
    return false;
  const int64_t group = conv.int_attr("group", 1), c = x->shape()[1], m = y->shape()[1];
  if (c < 16 || group < 1 || (group > 1 && (c / group % 16 || m / group % 16))) return false;
  if (is_plain_transpose(conv)) return true;
  if (rank == 5) return false;
  const auto t = transposed_window_of(conv, spatial_of(x), spatial_of(w));
  // A phase multiplies zeros where its window is outside the image, which a sum over inputs skips.
  constexpr int64_t kMostWaste = 2;
  int64_t all = kMostWaste * element_count(spatial_of(x));
  for (size_t d = 0; d < t.out.size(); d++) {
    if (t.window.strides[d] > kernels::kMostPhases || t.window.pads_begin[d] < 0) return false;
    all *= t.window.strides[d];
  }
  return element_count(spatial_of(y)) <= all;
}

ConvAlgorithm conv_algorithm(int64_t batch, int64_t channels, int64_t out_channels, int64_t oh,
                             int64_t ow, int64_t largest_tile, bool bf16) {
  // With few output pixels, weights cause most of the memory traffic and of the time, and
  // Winograd's weights are larger.
  if (batch * oh * ow < 64) return ConvAlgorithm::direct;
  // The model of the time: (tile + 2)^2 products for each output tile and pair of channels;
  // transform work for each position and channel (cycles of 16 lanes, measured); and reading the
  // weights once from memory at about 20 GB/s.
  const auto cost = [&](int64_t tile, double products_per_tile, double in_cycles,
                        double out_cycles) {
    const auto tiles =
        static_cast<double>(batch * ((oh + tile - 1) / tile) * ((ow + tile - 1) / tile));
    const double cb = static_cast<double>((channels + 15) / 16),
                 ob = static_cast<double>((out_channels + 15) / 16);
    const double cycles = tiles * (products_per_tile * static_cast<double>(channels) * ob +
                                   in_cycles * cb + out_cycles * ob);
    const double weights = products_per_tile * static_cast<double>(channels) * ob * 64;
    return cycles / 3.5 + weights / 20.0;
  };
  if (channels < 16) return ConvAlgorithm::direct;
  double least = cost(1, bf16 ? 4.5 : 9, 10, 2);
  ConvAlgorithm best = ConvAlgorithm::direct;
  const auto consider = [&](ConvAlgorithm algorithm, int64_t tile, double ns) {
    if (tile > largest_tile || ns >= least) return;
    least = ns;
    best = algorithm;
  };
  consider(ConvAlgorithm::winograd2, 2, cost(2, 16, 70, 60));
  consider(ConvAlgorithm::winograd4, 4, cost(4, 36, 250, 200));
  return best;
}

}  // namespace poprt::ops
