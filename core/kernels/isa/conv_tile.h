// The register tiles of blocked convolutions. The accumulators of a tile stay in registers, so it
// has from 24 pixels x one block of 16 output channels to 6 pixels x four blocks with AVX-512, and
// fewer on other instruction sets (kMaxRows of isa/tile.h).
//
// The pixels of a tile are adjacent in memory. The sum over K is computed over segments of 16 input
// channels (the last segments may have fewer). The weights of one block of output channels are
// [K][16].
#pragma once

#include <cstdint>

#include "kernels/isa/isa.h"
#include "kernels/isa/tile.h"

namespace poprt::kernels::isa {

struct TileIn {
  // Segment s starts at a + s * a_segment; pixel r of it is at 16 * r.
  const float* a;
  int64_t a_segment;
  int64_t full, tail, tail_k;  // segments of 16, followed by segments of tail_k
  const float* w;
  int64_t w_vector;  // floats between blocks of output channels
  int64_t w_skip;    // floats between the weights of one segment and the next
  // If not null, segment s starts at at[s] + shift instead.
  const float* const* at = nullptr;
  int64_t shift = 0;
};
struct PlaneIn {
  // Element (k, pixel r) is a[offset[k] + r].
  const float* a;
  const int32_t* offset;
  int64_t k;
  const float* w;
  int64_t w_vector;
};

// Filters are the rows of this tile, adjacent pixels its columns.
struct WideIn {
  const float* w;
  int64_t w_row;      // floats between filters
  const float* bias;  // of each filter, or null
  // Element (k, pixel p) is b[offset[k] + p].
  const float* b;
  const int32_t* offset;
  int64_t k;
};
#if defined(__AVX512F__)
constexpr int kWideVectors = 3, kWideRows = 8;
#elif defined(__AVX2__)
constexpr int kWideVectors = 1, kWideRows = 6;
#else
constexpr int kWideVectors = 1, kWideRows = 3;
#endif

// [vectors][rows]; null if an instruction set has no such tile.
struct ConvTiles {
  void (*blocked[5][25])(const TileIn&, const TileOut&) = {};
  void (*plane[5][25])(const PlaneIn&, const TileOut&) = {};
  void (*wide[4][9])(const WideIn&, const TileOut&) = {};
};

namespace {
// Estimated cycles of one step of K for a tile.
constexpr double tile_cost(int64_t rows, int64_t vectors) {
  const double fmas = static_cast<double>(rows * vectors);
  const double loads = static_cast<double>(vectors) + 0.5 * static_cast<double>(rows);
  const double cost = fmas > loads ? fmas : loads;
  return (cost > 8 ? cost : 8) + 0.5;
}

// The size of the next piece if `left` elements are split evenly into pieces of at most `most`, so
// that 9 become 5 + 4 instead of 8 + 1.
POPRT_INLINE int64_t even_piece(int64_t left, int64_t most) {
  const int64_t pieces = (left + most - 1) / most;
  return (left + pieces - 1) / pieces;
}

// Estimated cycles of one step of K for a run of adjacent pixels, which is split into tiles.
[[maybe_unused]] double run_cost(int64_t pixels, int64_t vectors) {
  double cost = 0;
  for (int64_t left = pixels; left > 0;) {
    const int64_t rows = even_piece(left, kMaxRows[vectors]);
    cost += tile_cost(rows, vectors);
    left -= rows;
  }
  return cost;
}

// The number of output blocks in a tile that wastes least for this many pixels and blocks.
[[maybe_unused]] int64_t best_vectors(int64_t pixels, int64_t blocks) {
  int64_t best = 1;
  double best_cost = 0;
  for (int64_t vectors = 1; vectors <= kMaxVectors && vectors <= blocks; vectors++) {
    double cost = run_cost(pixels, vectors) * static_cast<double>(blocks / vectors);
    if (blocks % vectors) cost += run_cost(pixels, blocks % vectors);
    if (vectors == 1 || cost < best_cost) {
      best = vectors;
      best_cost = cost;
    }
  }
  return best;
}
}  // namespace

extern const ConvTiles POPRT_ISA_NAME(conv_tiles);

}  // namespace poprt::kernels::isa
