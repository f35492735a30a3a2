// Helpers shared by Conv, ConvTranspose and their blocked forms.
#pragma once

#include <string_view>

#include "ir/graph.h"
#include "ops/common/window.h"

namespace poprt::ops {

// Whether poprt.Conv supports this ONNX Conv node, whose types are static. It must be f32, with one
// to three spatial dimensions and non-negative pads. It must have a single group, groups of 1, 2,
// 4, 8 or 16 channels to as many (not in three dimensions), groups of multiples of 16 channels, or
// constant weights in an even number of groups of multiples of 8 channels.
// Weights and bias may be computed at run time if there are enough pixels to justify packing them.
bool poprt_conv_supported(const ir::Node& conv);
// Whether such a convolution has groups of odd multiples of 8 channels. Each two of them are
// computed as one group in which half of the weights are zero, which is faster than a plain layout.
bool pairs_groups(const ir::Node& conv);
// The attribute of poprt.Conv with the input and output channels of each of the two groups that are
// computed as one.
inline constexpr std::string_view kPairAttribute = "pair";
// The same for ConvTranspose: f32, constant weights, one or two spatial dimensions (three if the
// kernel equals the stride), at least 16 channels, in groups of multiples of 16.
bool poprt_conv_transpose_supported(const ir::Node& conv);
// Whether the kernel of a ConvTranspose of static types equals its stride, without padding, in one
// group.
bool is_plain_transpose(const ir::Node& conv);

inline constexpr int64_t kLargestWinogradTile = 4;

// The algorithms for a stride-1 3x3 convolution. conv_algorithm() returns the one with the least
// estimated time on one core, among those whose Winograd tile is at most `largest_tile` (0, 2 or
// 4). A larger tile rounds more (docs/decisions/convolution-accuracy.md). F(2x2,3x3) reads 16/9
// of the weights, F(4x4,3x3) four times as many. With `bf16`, a direct sum has products of bf16,
// which take half of the time and of the weights.
enum class ConvAlgorithm { direct, winograd2, winograd4 };
ConvAlgorithm conv_algorithm(int64_t batch, int64_t channels, int64_t out_channels, int64_t oh,
                             int64_t ow, int64_t largest_tile = kLargestWinogradTile,
                             bool bf16 = false);
// The attribute of poprt.Conv with the `largest_tile`.
inline constexpr std::string_view kWinogradAttribute = "largest_winograd_tile";
// The attribute of poprt.Conv that is 1 if Winograd's kernel reads transformed weights, which are
// larger (compiler/transformed_weights.h). Without it, the kernel transforms the weights in a run.
inline constexpr std::string_view kTransformedAttribute = "transformed_weights";

}  // namespace poprt::ops
