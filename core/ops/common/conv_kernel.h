// Decides how a convolution is computed: whether poprt.Conv supports it, by which kernel and
// algorithm (direct sum, Winograd, products of bf16), and the arguments of that kernel.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "ir/graph.h"
#include "kernels/calls/conv.h"
#include "kernels/calls/conv_bf16.h"
#include "kernels/calls/conv_depthwise.h"
#include "kernels/calls/conv_dilated.h"
#include "kernels/calls/conv_grouped.h"
#include "kernels/calls/conv_normalized.h"
#include "kernels/calls/conv_plain.h"
#include "kernels/calls/conv_stem.h"
#include "kernels/calls/conv_stem_bf16.h"
#include "kernels/calls/conv_winograd.h"
#include "kernels/common/pack_conv.h"

namespace poprt::ops {

// Whether poprt.Conv supports this ONNX Conv node, whose types are static. It must be f32, with one
// to three spatial dimensions and non-negative pads. It must have a single group, groups of 1, 2,
// 4, 8 or 16 channels to as many (not in three dimensions), groups of multiples of 16 channels, or
// constant weights in groups of multiples of 8 channels. An input of several groups must have at
// least 8 channels. Weights and bias may be computed at run time if there are enough pixels to
// justify packing them.
bool poprt_conv_supported(const ir::Node& conv);
// Whether such a convolution has groups of multiples of 8 channels that no kernel computes as they
// are. Each two of them are computed as one group in which half of the weights are zero, which is
// faster than a plain layout. A last group without another remains as it is.
bool pairs_groups(const ir::Node& conv);
// The attribute of poprt.Conv with the input and output channels of each of the two groups that are
// computed as one. Attribute `group` is then the number of pairs. The weights of a last group
// without another, [M, 2 C, ...], are zero for the channels that it does not have.
inline constexpr std::string_view kPairAttribute = "pair";

// The largest Winograd tile: F(4x4,3x3).
inline constexpr int64_t kLargestWinogradTile = 4;
// The attribute of poprt.Conv with the largest tile that it may use, 0, 2 or 4. A larger tile
// rounds more (docs/decisions/convolution-accuracy.md).
inline constexpr std::string_view kWinogradAttribute = "largest_winograd_tile";
// The attribute of poprt.Conv that is 1 if Winograd's kernel reads transformed weights, which are
// larger (compiler/winograd_storage.h). Without it, the kernel transforms the weights in a run.
inline constexpr std::string_view kTransformedAttribute = "transformed_weights";

// One axis of a convolution.
struct ConvAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;
};

struct ConvProblem {
  int64_t batch = 0, groups = 0, c = 0, m = 0;  // channels in and out of one group
  std::array<ConvAxis, 3> axes;                 // depth, height, width
  bool deep = false;                            // three spatial dimensions
  bool plain = false;                           // x is not blocked
  bool plain_result = false;                    // y is not blocked
  bool normalized = false;                      // x is scaled and shifted first
  bool bf16 = false;                            // products of bf16 are allowed
  int64_t pair_c = 0, pair_m = 0;               // of calls::Conv
  bool single = false;                          // a group follows the pairs

  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
};

// The problem of a poprt.Conv node whose inputs have static types. Throws invalid_argument naming
// the node.
ConvProblem conv_problem(const ir::Node& conv);

struct ConvKernel {
  // The call of the kernel, without the epilogue and the prologue.
  std::variant<kernels::calls::Conv, kernels::calls::ConvStem, kernels::calls::ConvPlain,
               kernels::calls::ConvNormalized, kernels::calls::ConvDepthwise,
               kernels::calls::ConvGrouped, kernels::calls::ConvWinograd,
               kernels::calls::ConvDilated, kernels::calls::ConvBf16, kernels::calls::ConvStemBf16>
      call;
  // The ONNX weights as pack_conv() reads them: [groups * m, c, kh, kw] for any rank.
  kernels::ConvWeights weights;
  // If not 0, the channels in and out of one more group, whose weights follow.
  int64_t single_c = 0, single_m = 0;
  bool packed = true;         // false: the kernel reads weights and bias in the layout of ONNX
  int64_t winograd_tile = 0;  // of transformed weights, or 0

  std::string_view name() const;
  // The packed weights: their type, bf16 or f32, and number.
  DType packed_type() const;
  int64_t packed_count() const;
  void pack(std::span<const float> values, std::span<std::byte> to) const;
  // Whether x, and whether the residual and y, may be bf16. With `one_type`, all of them have the
  // same type.
  bool reads_bf16() const;
  bool writes_bf16() const;
  bool one_type() const;
};

// `winograd_tile` is 0 (a direct sum), 2 or 4 for 3x3 with stride 1, or -1 for the fastest of them
// that is at most `largest_tile`, by a model of the time on one core. With `transformed`, the
// weights of Winograd's kernel are stored transformed. Throws invalid_argument if no kernel
// computes the problem (see poprt_conv_supported()).
ConvKernel choose_conv_kernel(const ConvProblem& problem, int64_t winograd_tile = -1,
                              int64_t largest_tile = kLargestWinogradTile,
                              bool transformed = false);

// The kernel of a poprt.Conv node whose inputs have static types. Weights that are computed at run
// time do not justify a Winograd transform. Throws invalid_argument if there is none.
ConvKernel conv_kernel_of(const ir::Node& conv);

// Whether choose_conv_kernel() finds a kernel.
bool conv_kernel_exists(const ConvProblem& problem);

}  // namespace poprt::ops
