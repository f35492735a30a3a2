// Weights of 3x3 convolutions as Winograd's kernels read them. The compiler makes them, and so does
// whoever loads a payload that has the plain ones in a narrow type (program/narrow_weights.h): both
// get the same bits.
#pragma once

#include <cstdint>
#include <span>

namespace poprt {

// Plain weights are [m, c, 3, 3]; packed ones [block][a * a][c][16], a = tile + 2, with zeros for
// the output channels that a block of 16 lacks.
struct WinogradWeights {
  int64_t m = 0, c = 0;
  int64_t tile = 0;  // of F(tile x tile, 3x3): 2 or 4; 0: there are none

  int64_t blocks() const { return (m + 15) / 16; }
  int64_t block_floats() const { return (tile + 2) * (tile + 2) * c * 16; }
  int64_t packed_floats() const { return blocks() * block_floats(); }
  int64_t plain_floats() const { return m * c * 9; }
  bool operator==(const WinogradWeights&) const = default;
};

// One block of up to 16 output channels: `plain` are their weights, `packed` block_floats().
void pack_winograd_block(const WinogradWeights& w, std::span<const float> plain,
                         std::span<float> packed);

}  // namespace poprt
