#include "ops/common/conv_kernel.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "kernels/common/winograd_weights.h"
#include "ops/common/conv.h"
#include "ops/common/window.h"
#include "program/weight_form.h"

namespace poprt::ops {
namespace {

constexpr int64_t kLanes = 16;

int64_t blocks(int64_t channels) { return (channels + kLanes - 1) / kLanes; }

bool is_depthwise(const ConvProblem& p) { return p.groups > 1 && p.c == 1 && p.m == 1; }

// Whether each block of channels contains whole groups.
bool has_small_groups(const ConvProblem& p) {
  return p.groups > 1 && p.c == p.m && p.c <= kLanes && kLanes % p.c == 0;
}

bool groups_fill_blocks(const ConvProblem& p) {
  return p.groups == 1 || (p.c % kLanes == 0 && p.m % kLanes == 0);
}

// Whether isa/depthwise.h has loops for the problem.
bool has_depthwise_loops(const ConvProblem& p) {
  const ConvAxis &h = p.axes[1], &w = p.axes[2];
  const int64_t most_stride = h.kernel == 3 || h.kernel == 5   ? 2
                              : h.kernel == 7 || h.kernel == 9 ? 1
                                                               : 0;
  return h.kernel == w.kernel && h.stride == w.stride && h.stride <= most_stride &&
         h.dilation == 1 && w.dilation == 1;
}

bool is_three_by_three(const ConvProblem& p) {
  return std::all_of(p.axes.begin() + 1, p.axes.end(), [](const ConvAxis& a) {
    return a.kernel == 3 && a.stride == 1 && a.dilation == 1;
  });
}

// If slices are convolved along the depth only, pixel by pixel, returns the problem as the
// convolution of an image in which each slice is one row. The kernel then computes runs of all
// pixels of a slice instead of one of its rows. Returns other problems unchanged.
ConvProblem with_slices_as_rows(const ConvProblem& p) {
  const auto unchanged = [](const ConvAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad == 0 && a.in == a.out;
  };
  if (!p.deep || p.plain || !unchanged(p.axes[1]) || !unchanged(p.axes[2])) return p;
  ConvProblem flat = p;
  const int64_t pixels = checked_mul(p.axes[1].in, p.axes[2].in);
  flat.axes = {ConvAxis{}, p.axes[0], ConvAxis{.in = pixels, .out = pixels}};
  flat.deep = false;
  return flat;
}

// The number of output positions of an axis for which tap `k` is not in the padding.
int64_t unpadded_outputs(const ConvAxis& a, int64_t k) {
  const int64_t shift = k * a.dilation - a.pad;
  return std::max<int64_t>(0, std::min(a.out, a.in - shift) - std::max<int64_t>(0, -shift));
}

// The fraction of products that do not involve padding.
double unpadded_share(const ConvProblem& p) {
  double share = 1;
  for (const ConvAxis& a : p.axes) {
    int64_t n = 0;
    for (int64_t k = 0; k < a.kernel; k++) n += unpadded_outputs(a, k);
    share *= static_cast<double>(n) / static_cast<double>(a.kernel * a.out);
  }
  return share;
}

// The fraction of taps that are outside of the padding for at least one output.
double used_share(const ConvProblem& p) {
  double share = 1;
  for (const ConvAxis& a : p.axes) {
    int64_t n = 0;
    for (int64_t k = 0; k < a.kernel; k++) n += unpadded_outputs(a, k) > 0;
    share *= static_cast<double>(n) / static_cast<double>(a.kernel);
  }
  return share;
}

// Whether skipping taps in the padding pays. It shortens the runs of pixels, which costs about 15 %
// more for each product.
bool is_mostly_padding(const ConvProblem& p) {
  return !p.deep && !p.single && p.taps() > 1 && p.axes[1].stride == 1 && p.axes[2].stride == 1 &&
         unpadded_share(p) < 0.85;
}

// Whether all products should be computed, in bf16. They are twice as fast as products of f32, so
// skipping half of them does not pay.
bool prefers_dense_bf16(const ConvProblem& p) {
  return p.bf16 && !p.single && groups_fill_blocks(p) &&
         (!is_mostly_padding(p) || unpadded_share(p) >= 0.5);
}

// A model of the time of 3x3 convolutions in nanoseconds on one core, for images and weights in its
// caches. The constants are fitted to medians of `kernel_bench winograd` on the machine of
// docs/performance.md; only their ratios matter. All algorithms read the same plain weights, so the
// time to read them from memory matters only next to products of bf16, whose weights have half of
// the size. A file that stores transformed weights makes Winograd's algorithm faster than the
// model, but only layers with many tiles have them, for which the transform of weights takes little
// time.

// The time of sixteen products, one for each output channel of a vector, for one pixel.
constexpr double kVectorNs = 1 / 7.5, kBf16VectorNs = kVectorNs / 2;
// Reading weights from memory, per byte: 20 GB/s.
constexpr double kByteNs = 1.0 / 20;

double weight_bytes(const ConvProblem& p, DType type) {
  return static_cast<double>(dtype_bytes(type, p.taps() * p.c * blocks(p.m) * kLanes));
}

double direct_ns(const ConvProblem& p) {
  const auto vectors = static_cast<double>(p.taps() * p.c * blocks(p.m));
  const auto images = static_cast<double>(p.batch),
             channel_blocks = static_cast<double>(blocks(p.c));
  const auto pixels = static_cast<double>(p.batch * p.axes[0].out * p.axes[1].out * p.axes[2].out);
  const double f32_weights_ns = weight_bytes(p, DType::f32) * kByteNs;
  if (prefers_dense_bf16(p))  // also rounds each pixel of a block of channels, in 7 ns
    return pixels * (vectors * kBf16VectorNs + 7 * channel_blocks) +
           weight_bytes(p, DType::bf16) * kByteNs;
  // The kernel that skips the padding reads the weights that it uses again for each image.
  constexpr double kWeightVectorNs = 0.35;
  if (is_mostly_padding(p))
    return pixels * vectors * unpadded_share(p) * kVectorNs +
           images * vectors * used_share(p) * kWeightVectorNs + f32_weights_ns;
  return pixels * (vectors * kVectorNs + 5 * channel_blocks) + f32_weights_ns;
}

double winograd_ns(const ConvProblem& p, int64_t tile) {
  // Transforms of a tile of 16 channels (the mean of inputs and outputs), and of the weights of an
  // input channel and 16 output channels.
  const double tile_ns = tile == 2 ? 20 : 65, weights_ns = tile == 2 ? 20 : 42;
  // A task transforms the weights for 8 to 168 tiles (conv_winograd.cpp). The model assumes
  // kTilesOfTask.
  constexpr double kTilesOfTask = 128;
  // The taps of the depth are summed like input channels.
  const int64_t depth = p.axes[0].kernel;
  const auto tiles = static_cast<double>(p.batch * p.axes[0].out * ceil_div(p.axes[1].out, tile) *
                                         ceil_div(p.axes[2].out, tile));
  const auto pairs = static_cast<double>(depth * p.c * blocks(p.m));
  const auto positions = static_cast<double>((tile + 2) * (tile + 2));
  return tiles * (positions * pairs * kVectorNs +
                  tile_ns * static_cast<double>(depth * blocks(p.c) + blocks(p.m)) / 2) +
         std::max(1.0, tiles / kTilesOfTask) * weights_ns * pairs +
         weight_bytes(p, DType::f32) * kByteNs;
}

// The Winograd tile that the model expects to be the fastest, or 0 for a direct sum.
int64_t fastest_tile(const ConvProblem& p, int64_t largest_tile) {
  if (p.c < kLanes || largest_tile < 2) return 0;
  const double direct = direct_ns(p), two = winograd_ns(p, 2);
  // A larger tile rounds more, so it must be clearly faster.
  constexpr double kMargin = 1.05;
  if (largest_tile >= 4 && kMargin * winograd_ns(p, 4) < std::min(direct, two)) return 4;
  return kMargin * two < direct ? 2 : 0;
}

// Preferences of the caller in addition to the problem.
struct Preferences {
  int64_t winograd_tile;  // -1 for the fastest up to `largest_tile`
  int64_t largest_tile;
  bool transformed;  // whether Winograd's weights are stored transformed
};

// The size of Winograd's tile, or 0 if another algorithm is used.
int64_t winograd_tile_of(const ConvProblem& p, const Preferences& preferences) {
  if (p.groups != 1 || p.single || !is_three_by_three(p)) return 0;
  if (preferences.winograd_tile >= 0) return preferences.winograd_tile;
  return fastest_tile(p, preferences.largest_tile);
}

// Whether conv_stem_bf16 computes the problem. It copies rows without dilation of their columns.
bool has_bf16_stem(const ConvProblem& p) { return p.bf16 && !p.deep && p.axes[2].dilation == 1; }

kernels::calls::BlockedConv common_call(const ConvProblem& p, int64_t groups, int64_t c,
                                        int64_t m) {
  const ConvAxis &h = p.axes[1], &w = p.axes[2];
  return {.batch = p.batch,
          .groups = groups,
          .c = c,
          .m = m,
          .h = h.in,
          .w = w.in,
          .oh = h.out,
          .ow = w.out,
          .kh = h.kernel,
          .kw = w.kernel,
          .stride_h = h.stride,
          .stride_w = w.stride,
          .pad_h = h.pad,
          .pad_w = w.pad,
          .dilation_h = h.dilation,
          .dilation_w = w.dilation,
          .epilogue = {}};
}

std::optional<kernels::calls::ConvDepth> depth_of(const ConvProblem& p) {
  if (!p.deep) return std::nullopt;
  const ConvAxis& d = p.axes[0];
  return kernels::calls::ConvDepth{.d = d.in,
                                   .od = d.out,
                                   .kd = d.kernel,
                                   .stride_d = d.stride,
                                   .pad_d = d.pad,
                                   .dilation_d = d.dilation};
}

// Weights of [taps of height and depth][taps of width] for each group.
kernels::ConvWeights group_weights(const ConvProblem& p) {
  return {
      {}, p.groups, p.m, p.c, checked_mul(p.axes[0].kernel, p.axes[1].kernel), p.axes[2].kernel};
}

// A kernel for channels in groups.
template <class Call>
ConvKernel by_groups(const ConvProblem& p) {
  Call call;
  call.conv = common_call(p, p.groups, p.c, p.m);
  if constexpr (requires { call.depth; }) call.depth = depth_of(p);
  return {.call = call, .weights = group_weights(p)};
}

// A kernel whose groups are blocks of 16 channels, each of which may contain several groups of the
// convolution.
template <class Call>
ConvKernel by_blocks(const ConvProblem& p) {
  ConvKernel k = by_groups<Call>(p);
  k.weights.groups = 1;
  k.weights.m = p.groups * p.m;
  std::get<Call>(k.call).conv = common_call(p, blocks(k.weights.m), kLanes, kLanes);
  return k;
}

// A kernel that sums over the pairs of a channel and a tap, so each pair counts as a channel.
template <class Call>
ConvKernel by_taps(const ConvProblem& p) {
  ConvKernel k = by_groups<Call>(p);
  k.weights = {{}, 1, p.m, checked_mul(p.c, p.taps()), 1, 1};
  return k;
}

// A condition under which a kernel computes the convolution, and the arguments of the kernel.
struct ConvImplementation {
  bool (*fits)(const ConvProblem& p, const Preferences& preferences);
  ConvKernel (*make)(const ConvProblem& p, const Preferences& preferences);
};

// In order of priority: the first implementation whose condition is true is used.
constexpr ConvImplementation kImplementations[] = {
    // For few channels, rows are copied and all taps of all channels are computed at once.
    {[](const ConvProblem& p, const Preferences&) { return p.plain && p.plain_result; },
     [](const ConvProblem& p, const Preferences&) {
       ConvKernel k = by_taps<kernels::calls::ConvPlain>(p);
       k.packed = false;
       return k;
     }},
    {[](const ConvProblem& p, const Preferences&) { return p.plain && has_bf16_stem(p); },
     [](const ConvProblem& p, const Preferences&) {
       return by_groups<kernels::calls::ConvStemBf16>(p);
     }},
    {[](const ConvProblem& p, const Preferences&) { return p.plain; },
     [](const ConvProblem& p, const Preferences&) { return by_taps<kernels::calls::ConvStem>(p); }},
    // Only this kernel has a prologue.
    {[](const ConvProblem& p, const Preferences&) { return p.normalized; },
     [](const ConvProblem& p, const Preferences&) {
       return by_groups<kernels::calls::ConvNormalized>(p);
     }},
    // isa/depthwise.h has loops for this; other depthwise convolutions are groups of one channel.
    {[](const ConvProblem& p, const Preferences&) {
       return is_depthwise(p) && !p.deep && has_depthwise_loops(p);
     },
     [](const ConvProblem& p, const Preferences&) {
       return by_blocks<kernels::calls::ConvDepthwise>(p);
     }},
    {[](const ConvProblem& p, const Preferences&) { return has_small_groups(p) && !p.deep; },
     [](const ConvProblem& p, const Preferences&) {
       ConvKernel k = by_blocks<kernels::calls::ConvGrouped>(p);
       std::get<kernels::calls::ConvGrouped>(k.call).size = p.c;
       return k;
     }},
    // Winograd computes fewer products than a direct sum, always in f32.
    {[](const ConvProblem& p, const Preferences& preferences) {
       return winograd_tile_of(p, preferences) != 0;
     },
     [](const ConvProblem& p, const Preferences& preferences) {
       ConvKernel k = by_groups<kernels::calls::ConvWinograd>(p);
       auto& call = std::get<kernels::calls::ConvWinograd>(k.call);
       call.tile = winograd_tile_of(p, preferences);
       call.plain_weights = !preferences.transformed || p.deep;
       k.winograd_tile = call.plain_weights ? 0 : call.tile;
       return k;
     }},
    {[](const ConvProblem& p, const Preferences&) { return prefers_dense_bf16(p); },
     [](const ConvProblem& p, const Preferences&) {
       return by_groups<kernels::calls::ConvBf16>(p);
     }},
    // Skips the taps in the padding.
    {[](const ConvProblem& p, const Preferences&) { return is_mostly_padding(p); },
     [](const ConvProblem& p, const Preferences&) {
       return by_groups<kernels::calls::ConvDilated>(p);
     }},
    {[](const ConvProblem&, const Preferences&) { return true; },
     [](const ConvProblem& p, const Preferences&) {
       ConvKernel k = by_groups<kernels::calls::Conv>(p);
       auto& call = std::get<kernels::calls::Conv>(k.call);
       call.pair_c = p.pair_c;
       call.pair_m = p.pair_m;
       if (p.pair_c && !call.depth) call.depth.emplace();
       call.single = p.single;
       k.single_c = p.single ? p.pair_c : 0;
       k.single_m = p.single ? p.pair_m : 0;
       return k;
     }},
};

}  // namespace

bool poprt_conv_supported(const ir::Node& conv) {
  constexpr int64_t kPixelsWorthPacking = 16;
  if (!has_static_f32_types(conv)) return false;
  const ir::Value &x = *conv.input(0), &w = *conv.input(1), &y = *conv.output(0);
  if (!has_constant_weights(conv) && element_count(y.shape()) / y.shape()[1] < kPixelsWorthPacking)
    return false;
  const int64_t group = conv.int_attr("group", 1), c = x.shape()[1], m = w.shape()[0];
  if (group < 1 || c % group || m % group || w.shape()[1] != c / group) return false;
  for (const int64_t pad : window_of(conv, spatial_of(x), spatial_of(w)).pads_begin)
    if (pad < 0) return false;
  if (group == 1) return true;
  ConvProblem p;
  p.groups = group;
  p.c = c / group;
  p.m = m / group;
  p.deep = x.shape().size() == 5;
  // Blocks with at least half of their channels are faster than the plain layout.
  return c >= 8 && (conv_kernel_exists(p) || pairs_groups(conv));
}

bool pairs_groups(const ir::Node& conv) {
  const ir::Value* w = conv.input(1);
  const int64_t group = conv.int_attr("group", 1);
  if (group < 2 || !w->is_constant()) return false;
  ConvProblem p;
  p.groups = group;
  p.c = w->shape()[1];
  p.m = w->shape()[0] / group;
  p.deep = w->shape().size() == 5;
  return !conv_kernel_exists(p) && p.c % 8 == 0 && p.m % 8 == 0;
}

ConvProblem conv_problem(const ir::Node& node) {
  const Shape &x = node.input(0)->shape(), &w = node.input(1)->shape();
  ConvProblem p;
  p.deep = w.size() == 5;
  p.plain = x.size() == 4;
  p.plain_result = node.int_attr("plain_result", 0) != 0;
  p.normalized = node.input(4) != nullptr;
  p.bf16 = node.string_attr("products", "f32") == "bf16";
  if (node.find_attr(kPairAttribute)) {
    const std::vector<int64_t> pair = node.ints_attr(kPairAttribute);
    if (pair.size() != 2)
      fail(ErrorCode::invalid_argument, "{}: a pair has two numbers", node.describe());
    p.pair_c = pair[0];
    p.pair_m = pair[1];
    p.single = node.int_attr("channels", 0) % w[1] != 0;
  }
  p.batch = x[0];
  p.groups = node.int_attr("group", 1);
  p.c = w[1];
  p.m = (w[0] - (p.single ? p.pair_m : 0)) / p.groups;
  const int64_t depth = p.deep ? node.int_attr("depth", 1) : 1;
  if (depth < 1 || x[2] % depth)
    fail(ErrorCode::invalid_argument, "{}: {} rows are not a multiple of {} slices",
         node.describe(), x[2], depth);
  std::vector<int64_t> in = {x[2] / depth, x[3]};
  if (p.deep) in.insert(in.begin(), depth);
  const Window win = window_of(node, in, {w.begin() + 2, w.end()});
  for (size_t d = 0; d < in.size(); d++)
    p.axes[3 - in.size() + d] = {in[d],          win.out(d, in[d]), win.kernel[d],
                                 win.strides[d], win.pads_begin[d], win.dilations[d]};
  return p;
}

DType ConvKernel::packed_type() const {
  const bool pairs = std::holds_alternative<kernels::calls::ConvBf16>(call) ||
                     std::holds_alternative<kernels::calls::ConvStemBf16>(call);
  return pairs ? DType::bf16 : DType::f32;
}

int64_t ConvKernel::packed_count() const {
  const int64_t positions = winograd_tile ? (winograd_tile + 2) * (winograd_tile + 2)
                                          : checked_mul(weights.kh, weights.kw);
  const int64_t c = packed_type() == DType::bf16 ? (weights.c + 1) / 2 * 2 : weights.c;
  const int64_t single = checked_mul(checked_mul(blocks(single_m), single_c), positions * kLanes);
  return single + checked_mul(checked_mul(weights.groups * weights.blocks(), c),
                              checked_mul(positions, kLanes));
}

namespace {

// Packs the pairs of groups, and the group of c to m channels after them. Its filters are stored
// with the channels of a pair, of which only the first c are packed.
void pack_with_single(const kernels::ConvWeights& pairs, int64_t c, int64_t m,
                      std::span<float> to) {
  kernels::ConvWeights w = pairs;
  const auto filters = static_cast<size_t>(w.groups * w.m);
  const auto filter = static_cast<size_t>(w.c * w.taps()), used = static_cast<size_t>(c * w.taps());
  const auto floats = static_cast<size_t>(w.groups * w.blocks() * w.c * w.taps() * kLanes);
  std::vector<float> values;
  for (size_t i = 0; i < static_cast<size_t>(m); i++) {
    const auto from = w.values.subspan((filters + i) * filter, used);
    values.insert(values.end(), from.begin(), from.end());
  }
  w.values = w.values.first(filters * filter);
  kernels::pack_conv(w, to.first(floats));
  kernels::pack_conv({values, 1, m, c, w.kh, w.kw}, to.subspan(floats));
}

}  // namespace

void ConvKernel::pack(std::span<const float> values, std::span<std::byte> to) const {
  kernels::ConvWeights w = weights;
  w.values = values;
  if (std::holds_alternative<kernels::calls::ConvBf16>(call))
    kernels::pack_conv_bf16(w, program::as_array<bf16_t>(to));
  else if (std::holds_alternative<kernels::calls::ConvStemBf16>(call))
    kernels::pack_conv_stem_bf16(w, program::as_array<bf16_t>(to));
  else if (winograd_tile)
    kernels::pack_conv_winograd(w, winograd_tile, program::as_array<float>(to));
  else if (single_c)
    pack_with_single(w, single_c, single_m, program::as_array<float>(to));
  else
    kernels::pack_conv(w, program::as_array<float>(to));
}

bool ConvKernel::reads_bf16() const {
  return std::holds_alternative<kernels::calls::ConvBf16>(call) ||
         std::holds_alternative<kernels::calls::ConvWinograd>(call) || one_type();
}

bool ConvKernel::writes_bf16() const {
  return reads_bf16() || std::holds_alternative<kernels::calls::ConvStemBf16>(call);
}

bool ConvKernel::one_type() const {
  return std::holds_alternative<kernels::calls::ConvDepthwise>(call);
}

bool conv_kernel_exists(const ConvProblem& p) {
  for (const ConvAxis& a : p.axes)
    if (a.pad < 0) return false;
  if (p.plain) return p.groups == 1 && p.c < kLanes && !p.normalized;
  if (p.plain_result) return false;
  if (p.normalized) return groups_fill_blocks(p) && !p.single;
  return groups_fill_blocks(p) || (has_small_groups(p) && !p.deep);
}

std::string_view ConvKernel::name() const {
  return std::visit([]<class Call>(const Call&) { return Call::kKernel; }, call);
}

ConvKernel choose_conv_kernel(const ConvProblem& problem, int64_t winograd_tile,
                              int64_t largest_tile, bool transformed) {
  const ConvProblem p = with_slices_as_rows(problem);
  if (!conv_kernel_exists(p))
    fail(ErrorCode::invalid_argument,
         "no blocked convolution of {} groups of {} to {} channels{}{}{}", p.groups, p.c, p.m,
         p.deep ? " in three dimensions" : "", p.plain ? " in plain layout" : "",
         p.normalized ? " with a prologue" : "");
  const Preferences preferences{winograd_tile, largest_tile, transformed};
  const auto* chosen =
      std::find_if(std::begin(kImplementations), std::end(kImplementations),
                   [&](const ConvImplementation& i) { return i.fits(p, preferences); });
  return chosen->make(p, preferences);
}

ConvKernel conv_kernel_of(const ir::Node& conv) {
  return choose_conv_kernel(conv_problem(conv),
                            conv.input(1)->is_constant() ? conv.int_attr("winograd_tile", -1) : 0,
                            conv.int_attr(kWinogradAttribute, kLargestWinogradTile),
                            conv.int_attr(kTransformedAttribute, 0) != 0);
}

}  // namespace poprt::ops
