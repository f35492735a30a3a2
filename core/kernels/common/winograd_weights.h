// The weights of 3x3 convolutions in the layout of the Winograd kernels that read transformed
// weights.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/common/pack_conv.h"

namespace poprt::kernels {

// Plain weights are [m, c, 3, 3]. Packed weights are [block][a * a][c][16] with a = tile + 2;
// missing output channels of the last block of 16 are zero.
struct WinogradWeights {
  int64_t m = 0, c = 0;
  int64_t tile = 0;  // of F(tile x tile, 3x3): 2 or 4; 0 if the convolution has no packed weights

  int64_t blocks() const { return (m + 15) / 16; }
  int64_t block_floats() const { return (tile + 2) * (tile + 2) * c * 16; }
  int64_t packed_floats() const { return blocks() * block_floats(); }
  int64_t plain_floats() const { return m * c * 9; }
  bool operator==(const WinogradWeights&) const = default;
};

// Packs one block of up to 16 output channels. `plain` has the weights of these channels, `packed`
// has block_floats() elements.
void pack_winograd_block(const WinogradWeights& w, std::span<const float> plain,
                         std::span<float> packed);

// Packs the weights of a convolution for tile 2 or 4. The transformation computes in double.
void pack_conv_winograd(const ConvWeights& w, int64_t tile, std::span<float> packed);

}  // namespace poprt::kernels
