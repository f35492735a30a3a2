// Products of bf16 weights and rows of bf16 (isa/narrow.h) with `vdpbf16ps`, which adds two
// products to an f32 sum, the odd element first, without denormals and with one rounding for each
// product.
#pragma once

#include "kernels/isa/narrow_weights.h"
#include "kernels/isa/vnni_products.h"

namespace poprt::kernels::isa {
namespace {

void to_pairs(const NarrowShape& s, const float* a, uint8_t* rows, int64_t row_begin,
              int64_t row_end) noexcept {
  const int64_t stride = narrow_pair_bytes(s.k);
  for (int64_t row = row_begin; row < row_end; row++) {
    const float* x = a + row * s.k;
    auto* to = reinterpret_cast<uint16_t*>(rows + row * stride);
    for (int64_t k = 0; k < stride / 2 - 32; k += 16) {
      const int64_t left = s.k - k;
      store_u16(to + k, to_bf16_bits(load_first(x + k, left < 0    ? 0
                                                       : left < 16 ? left
                                                                   : int64_t{16})));
    }
  }
}

#if defined(__AVX512F__)
#define POPRT_BF16 __attribute__((target("avx512bf16")))
constexpr int kPairRows = 6, kPairVectors = 4;
// If there are more rows, all of them are multiplied by the weights of this many pairs, which stay
// in the L2 cache, before the next ones.
constexpr int64_t kPairDepth = 512;

// Multiplies kRows rows by kVectors panels, which are `panel` bytes apart.
template <int kRows, int kVectors>
POPRT_BF16 void pair_tile(const uint8_t* w, int64_t panel, const uint8_t* x, int64_t stride,
                          int64_t pairs, const TileOut& out) {
  f32x16 acc[kRows][kVectors];
  tile_begin(acc, out);
  for (int64_t i = 0; i < pairs; i++, w += 64, x += 4) {
    // Prevents moving the loads of later steps to here, where they would take the registers of the
    // sums.
    asm volatile("" ::: "memory");
    __m512i column[kVectors];
    POPRT_UNROLL for (int q = 0; q < kVectors; q++) column[q] = _mm512_loadu_si512(w + q * panel);
    POPRT_UNROLL for (int r = 0; r < kRows; r++) {
      const __m512i pair = _mm512_set1_epi32(*reinterpret_cast<const loose_i32*>(x + r * stride));
      POPRT_UNROLL for (int q = 0; q < kVectors; q++) acc[r][q] = reinterpret_cast<f32x16>(
          _mm512_dpbf16_ps(reinterpret_cast<__m512>(acc[r][q]), reinterpret_cast<__m512bh>(pair),
                           reinterpret_cast<__m512bh>(column[q])));
    }
  }
  tile_store(acc, out);
}

using PairTile = void (*)(const uint8_t*, int64_t, const uint8_t*, int64_t, int64_t,
                          const TileOut&);
struct PairTiles {
  PairTile at[kPairRows + 1][kPairVectors + 1] = {};
};
template <int kRows, int kVectors>
constexpr void fill_pair_tiles(PairTiles& t) {
  t.at[kRows][kVectors] = pair_tile<kRows, kVectors>;
  if constexpr (kVectors > 1)
    fill_pair_tiles<kRows, kVectors - 1>(t);
  else if constexpr (kRows > 1)
    fill_pair_tiles<kRows - 1, kPairVectors>(t);
}
constexpr PairTiles make_pair_tiles() {
  PairTiles t;
  fill_pair_tiles<kPairRows, kPairVectors>(t);
  return t;
}
constexpr PairTiles kPairTiles = make_pair_tiles();

void narrow_pairs(const NarrowShape& s, const NarrowOperands& o,
                  const NarrowRange& range) noexcept {
  const int64_t pairs = narrow_groups(s.format, s.k) * 2, panel = pairs * 64;
  const int64_t stride = narrow_pair_bytes(s.k);
  const int64_t depth = range.row_end - range.row_begin > kPairRows ? kPairDepth : pairs;
  for (int64_t p = range.panel_begin; p < range.panel_end; p += kPairVectors) {
    const int64_t vectors =
        range.panel_end - p < kPairVectors ? range.panel_end - p : int64_t{kPairVectors};
    for (int64_t i = 0; i < pairs; i += depth) {
      const int64_t count = pairs - i < depth ? pairs - i : depth;
      for (int64_t row = range.row_begin; row < range.row_end;) {
        const int64_t left = range.row_end - row, pieces = (left + kPairRows - 1) / kPairRows;
        const int64_t rows = (left + pieces - 1) / pieces;
        TileOut out = narrow_out(s, o, row, p * kNarrowPanel, vectors);
        out.first = i == 0;
        out.last = i + count == pairs;
        kPairTiles.at[rows][vectors](o.panels + p * panel + i * 64, panel,
                                     o.rows + row * stride + i * 4, stride, count, out);
        row += rows;
      }
    }
  }
}
#define POPRT_NARROW_PAIRS narrow_pairs
#else
#define POPRT_NARROW_PAIRS nullptr
#endif

}  // namespace
}  // namespace poprt::kernels::isa
