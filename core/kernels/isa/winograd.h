// Winograd convolution F(2x2,3x3) and F(4x4,3x3) on channel-blocked activations.
//
// With three dimensions, the tiles are those of the rows and columns of each slice, and the taps of
// the depth are summed like input channels: each is a block of 16 channels of another slice. So
// block b of a tile is tap b % kd of block b / kd of the input channels.
#pragma once

#include "kernels/isa/conv.h"

namespace poprt::kernels::isa {

// The blocks of 16 channels that a tile sums.
inline int64_t winograd_blocks(const ConvShape& s) { return s.c_blocks * s.kd; }

struct WinogradBlocking {
  int64_t tile;       // 2 or 4
  bool transformed;   // whether the weights that run() gets are already transformed
  int64_t tiles;      // of a task; the tiles of all images are numbered one after the other
  int64_t oc_blocks;  // of a task
  int64_t vectors;    // output blocks of a register tile
  int64_t tile_tasks, oc_tasks;
  // The number of floats between positions of the transformed input. A cache line is added
  // because the number of lines would often be a multiple of a large power of two, and the
  // positions of one tile would be in the same cache set.
  int64_t position_floats(const ConvShape& s) const {
    return (winograd_blocks(s) * tiles + 1) * 16;
  }
  int64_t product_floats() const { return (vectors * tiles + 1) * 16; }
  // The number of floats between the transformed weights of two output blocks, for at most
  // kSummedSegments blocks of input channels.
  static int64_t weight_floats(const ConvShape& s) {
    const int64_t blocks = winograd_blocks(s);
    return ((blocks < kSummedSegments ? blocks : kSummedSegments) * 16 + 1) * 16;
  }
  int64_t scratch_floats(const ConvShape& s) const {
    const int64_t weights = transformed ? 0 : (tile + 2) * vectors * weight_floats(s);
    return (tile + 2) * (tile + 2) * (position_floats(s) + product_floats()) + weights;
  }
};

struct WinogradTable {
  int64_t (*best_vectors)(int64_t tiles, int64_t blocks);
  // 3x3 in rows and columns, with stride and dilation 1. Transformed weights, of two dimensions,
  // are [oc block][(tile+2)^2][c][16], others those of ConvTable::blocked. x, the residual and y
  // may be bf16.
  void (*run)(const ConvShape& s, const WinogradBlocking& b, const void* x, const float* weights,
              const float* bias, const void* residual, void* y, int64_t begin, int64_t end,
              float* scratch) noexcept;
};
POPRT_DECLARE_ISA(WinogradTable, winograd)

}  // namespace poprt::kernels::isa
