// The weights of 3x3 convolutions in the layout of the Winograd kernels. Two users pack plain
// weights: the compiler, and the loader of a payload that stores plain weights in a narrow type
// (program/narrow_weights.h). Both get the same bits.
#pragma once

#include <cstdint>
#include <span>

namespace poprt {

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

}  // namespace poprt
