#include "ops/common/conv_kernel.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "ops/common/conv.h"
#include "ops/common/window.h"

namespace poprt::ops {
namespace {

constexpr int64_t kLanes = 16;

int64_t blocks(int64_t channels) { return (channels + kLanes - 1) / kLanes; }

bool depthwise(const ConvProblem& p) { return p.groups > 1 && p.c == 1 && p.m == 1; }

// Whole groups in each block of channels.
bool small_groups(const ConvProblem& p) {
  return p.groups > 1 && p.c == p.m && p.c <= kLanes && kLanes % p.c == 0;
}

bool whole_blocks(const ConvProblem& p) {
  return p.groups == 1 || (p.c % kLanes == 0 && p.m % kLanes == 0);
}

// What isa/depthwise.h has loops for.
bool common_depthwise(const ConvProblem& p) {
  const ConvAxis &h = p.axes[1], &w = p.axes[2];
  return h.kernel == w.kernel && (h.kernel == 3 || h.kernel == 5) && h.stride == w.stride &&
         h.stride <= 2 && h.dilation == 1 && w.dilation == 1;
}

bool three_by_three(const ConvProblem& p) {
  return !p.deep && std::all_of(p.axes.begin() + 1, p.axes.end(), [](const ConvAxis& a) {
    return a.kernel == 3 && a.stride == 1 && a.dilation == 1;
  });
}

// Winograd's, or 0. `wanted` is -1 for the cheapest up to `largest`.
int64_t tile_of(const ConvProblem& p, int64_t wanted, int64_t largest) {
  if (p.groups != 1 || !three_by_three(p)) return 0;
  if (wanted >= 0) return wanted;
  switch (conv_algorithm(p.batch, p.c, p.m, p.axes[1].out, p.axes[2].out, largest)) {
    case ConvAlgorithm::winograd2: return 2;
    case ConvAlgorithm::winograd4: return 4;
    case ConvAlgorithm::direct: break;
  }
  return 0;
}

// The share of products that are not with padding.
double inside(const ConvProblem& p) {
  double share = 1;
  for (const ConvAxis& a : p.axes) {
    int64_t n = 0;
    for (int64_t k = 0; k < a.kernel; k++) {
      const int64_t shift = k * a.dilation - a.pad;
      n += std::max<int64_t>(0, std::min(a.out, a.in - shift) - std::max<int64_t>(0, -shift));
    }
    share *= static_cast<double>(n) / static_cast<double>(a.kernel * a.out);
  }
  return share;
}

// Shorter runs of pixels cost some 15 % more a product.
bool mostly_padding(const ConvProblem& p) {
  return !p.deep && p.taps() > 1 && p.axes[1].stride == 1 && p.axes[2].stride == 1 &&
         inside(p) < 0.85;
}

std::vector<int64_t> common_ints(const ConvProblem& p, int64_t groups, int64_t c, int64_t m) {
  const ConvAxis &h = p.axes[1], &w = p.axes[2];
  return {p.batch,  groups,   c,        m,     h.in,  w.in,       h.out,      w.out, h.kernel,
          w.kernel, h.stride, w.stride, h.pad, w.pad, h.dilation, w.dilation, 0,     0};
}

}  // namespace

ConvProblem conv_problem(const ir::Node& node) {
  const Shape &x = node.input(0)->shape(), &w = node.input(1)->shape();
  ConvProblem p;
  p.deep = w.size() == 5;
  p.plain = x.size() == 4;
  p.plain_result = node.int_attr("plain_result", 0) != 0;
  p.normalized = node.input(4) != nullptr;
  p.batch = x[0];
  p.groups = node.int_attr("group", 1);
  p.c = w[1];
  p.m = w[0] / p.groups;
  const int64_t depth = p.deep ? node.int_attr("depth", 1) : 1;
  if (depth < 1 || x[2] % depth)
    fail(ErrorCode::invalid_argument, "{}: {} rows are no multiple of {} slices", node.describe(),
         x[2], depth);
  std::vector<int64_t> in = {x[2] / depth, x[3]};
  if (p.deep) in.insert(in.begin(), depth);
  const Window win = window_of(node, in, {w.begin() + 2, w.end()});
  for (size_t d = 0; d < in.size(); d++)
    p.axes[3 - in.size() + d] = {in[d],          win.out(d, in[d]), win.kernel[d],
                                 win.strides[d], win.pads_begin[d], win.dilations[d]};
  return p;
}

int64_t ConvKernel::packed_floats() const {
  const int64_t positions = winograd_tile ? (winograd_tile + 2) * (winograd_tile + 2)
                                          : checked_mul(weights.kh, weights.kw);
  return checked_mul(checked_mul(weights.groups * weights.blocks(), weights.c),
                     checked_mul(positions, kLanes));
}

void ConvKernel::pack(std::span<const float> values, std::span<float> to) const {
  kernels::ConvWeights w = weights;
  w.values = values;
  if (winograd_tile)
    kernels::pack_conv_winograd(w, winograd_tile, to);
  else
    kernels::pack_conv(w, to);
}

bool conv_kernel_exists(const ConvProblem& p) {
  for (const ConvAxis& a : p.axes)
    if (a.pad < 0) return false;
  if (p.plain) return p.groups == 1 && p.c < kLanes && !p.normalized;
  if (p.plain_result) return false;
  if (p.normalized) return whole_blocks(p);
  return whole_blocks(p) || (small_groups(p) && !p.deep);
}

ConvKernel choose_conv_kernel(const ConvProblem& p, int64_t winograd_tile, int64_t largest_tile) {
  if (!conv_kernel_exists(p))
    fail(ErrorCode::invalid_argument,
         "no blocked convolution of {} groups of {} to {} channels{}{}{}", p.groups, p.c, p.m,
         p.deep ? " in three dimensions" : "", p.plain ? " in plain layout" : "",
         p.normalized ? " with a prologue" : "");
  ConvKernel k;
  k.weights = {
      {}, p.groups, p.m, p.c, checked_mul(p.axes[0].kernel, p.axes[1].kernel), p.axes[2].kernel};
  k.ints = common_ints(p, p.groups, p.c, p.m);
  const ConvAxis& d = p.axes[0];
  if (p.deep) k.ints.insert(k.ints.end(), {d.in, d.out, d.kernel, d.stride, d.pad, d.dilation});
  const auto groups_in_blocks = [&](std::string_view name) {
    k.name = name;
    k.weights.groups = 1;
    k.weights.m = p.groups * p.m;
    k.ints = common_ints(p, blocks(k.weights.m), kLanes, kLanes);
  };
  // The first that fits.
  if (p.plain) {
    // K is (channel, tap), so each (channel, tap) counts as a channel.
    k.name = p.plain_result ? "conv_plain" : "conv_stem";
    k.packed = !p.plain_result;
    k.weights = {{}, 1, p.m, checked_mul(p.c, p.taps()), 1, 1};
  } else if (p.normalized) {
    k.name = "conv_normalized";
  } else if (depthwise(p) && !p.deep && common_depthwise(p)) {
    groups_in_blocks("conv_depthwise");
  } else if (small_groups(p) && !p.deep) {
    groups_in_blocks("conv_grouped");
    k.ints.push_back(p.c);
  } else if (const int64_t tile = tile_of(p, winograd_tile, largest_tile)) {
    k.name = "conv_winograd";
    k.winograd_tile = tile;
    k.ints.push_back(tile);
  } else if (mostly_padding(p)) {
    k.name = "conv_dilated";
  } else {
    k.name = "conv";
  }
  return k;
}

}  // namespace poprt::ops
