// What Conv, ConvTranspose and their blocked forms share.
#pragma once

#include <string_view>

#include "ir/graph.h"
#include "ops/common/window.h"

namespace poprt::ops {

// Whether poprt.Conv can do what this ONNX Conv node with static types does: f32, one to three
// spatial dimensions, non-negative pads, and one of: a single group, groups of 1, 2, 4, 8 or 16
// channels to as many (not in three dimensions), or groups of multiples of 16 channels. Weights and
// bias may come at run time when there are pixels enough to be worth packing them.
bool poprt_conv_supported(const ir::Node& conv);
// Same for ConvTranspose: f32, constant weights, one group, kernel == stride, no pads.
bool poprt_conv_transpose_supported(const ir::Node& conv);

inline constexpr int64_t kLargestWinogradTile = 4;

// Estimated nanoseconds on one core of the ways to compute a stride-1 3x3 convolution; the lowering
// takes the least whose Winograd tile is no larger than `largest_tile` (0, 2 or 4: it rounds more,
// see docs/design.md). Winograd F(2x2,3x3) reads 16/9 of the weights, F(4x4,3x3) 4 times as many.
enum class ConvAlgorithm { direct, winograd2, winograd4 };
ConvAlgorithm conv_algorithm(int64_t batch, int64_t channels, int64_t out_channels, int64_t oh,
                             int64_t ow, int64_t largest_tile = kLargestWinogradTile);
// Attribute of poprt.Conv: `largest_tile`.
inline constexpr std::string_view kWinogradAttribute = "largest_winograd_tile";

}  // namespace poprt::ops
