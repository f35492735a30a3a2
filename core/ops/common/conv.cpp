#include "ops/common/conv.h"

#include <algorithm>

#include "ops/common/conv_kernel.h"

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
  return c >= 16 && conv_kernel_exists(p);
}

bool poprt_conv_transpose_supported(const ir::Node& conv) {
  const ir::Value *x = conv.input(0), *w = conv.input(1);
  if (!static_f32(x, 4) || !static_f32(w, 4) || !static_f32(conv.output(0), 4) ||
      !w->is_constant() || !optional_constant(conv.input(2)) || conv.int_attr("group", 1) != 1 ||
      x->shape()[1] < 16)
    return false;
  const auto strides = conv.ints_attr("strides", {1, 1});
  const auto dilations = conv.ints_attr("dilations", {1, 1});
  const auto pads = conv.ints_attr("pads", {0, 0, 0, 0});
  const auto padding = conv.ints_attr("output_padding", {0, 0});
  const auto zero = [](int64_t v) { return v == 0; };
  const Shape& k = w->shape();
  return strides == std::vector<int64_t>{k[2], k[3]} && dilations == std::vector<int64_t>{1, 1} &&
         std::all_of(pads.begin(), pads.end(), zero) &&
         std::all_of(padding.begin(), padding.end(), zero) &&
         conv.output(0)->shape() ==
             Shape{x->shape()[0], k[1], x->shape()[2] * k[2], x->shape()[3] * k[3]};
}

ConvAlgorithm conv_algorithm(int64_t batch, int64_t channels, int64_t out_channels, int64_t oh,
                             int64_t ow, int64_t largest_tile) {
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
  double least = cost(1, 9, 10, 2);
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
