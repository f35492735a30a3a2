// Products of narrow integer weights and rows of bytes (isa/narrow.h). A mask selects the same
// field of the four bytes of every column, which is one operand of a dot of bytes; the other one is
// four bytes of a row. Weights are unsigned, so the zero point times the sum of the row is
// subtracted.
#pragma once

#include "kernels/isa/narrow_weights.h"
#include "kernels/isa/vnni_products.h"

namespace poprt::kernels::isa {
namespace {

#if defined(__AVX512BW__)
constexpr int kByteRows = 12;
#elif defined(__AVX2__)
constexpr int kByteRows = 2;
#endif

#if defined(__AVX2__)

// The distance of the prefetch in bytes for products of one or two rows, which are limited by the
// speed of the memory. With 4096 bytes, weights of 4 bits that are read from memory take up to 9 %
// longer.
constexpr int kBytesAhead = 8192;

using u8x16 = uint8_t __attribute__((vector_size(16)));
typedef u8x16 u8x16u __attribute__((aligned(1), may_alias));

POPRT_INLINE u32x16 zero_products(const NarrowShape& s, const uint8_t* zeros, int32_t row_sum) {
  const auto minus = static_cast<uint32_t>(-row_sum);
  if (!zeros) return u32x16{} + minus * static_cast<uint32_t>(s.zero);
  return __builtin_convertvector(*reinterpret_cast<const u8x16u*>(zeros), u32x16) * minus;
}

// sum[j] += four bytes of column j, at most 15 each, times four signed bytes.
POPRT_INLINE u32x16 add_small(u32x16 sum, u32x16 w, int32_t quad) {
#if defined(__AVX512BW__)
  const __m512i pairs = _mm512_maddubs_epi16(reinterpret_cast<__m512i>(w), _mm512_set1_epi32(quad));
  return sum + reinterpret_cast<u32x16>(_mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#else
  const __m256i q = _mm256_set1_epi32(quad), ones = _mm256_set1_epi16(1);
  __m256i half[2];
  __builtin_memcpy(half, &w, 64);
  for (__m256i& h : half) h = _mm256_madd_epi16(_mm256_maddubs_epi16(h, q), ones);
  u32x16 products;
  __builtin_memcpy(&products, half, 64);
  return sum + products;
#endif
}
#if defined(__AVX512BW__)
POPRT_INLINE POPRT_VNNI u32x16 add_dots(u32x16 sum, u32x16 w, int32_t quad) {
  return reinterpret_cast<u32x16>(_mm512_dpbusd_epi32(
      reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(w), _mm512_set1_epi32(quad)));
}
#endif

#define POPRT_BYTE_TILE(name, target, add)                                                      \
  template <int kBits, int kRows>                                                               \
  target void name(const NarrowShape& s, const NarrowPanel& panel, const uint8_t* rows,         \
                   const TileOut& out) {                                                        \
    constexpr int kGroup = 32 / kBits;                                                          \
    const int64_t stride = narrow_row_bytes(s), values = narrow_row_values(s);                  \
    const int64_t groups = narrow_groups(s.format, s.k), of_part = s.part / kGroup;             \
    const int64_t parts_of_block = s.block / s.part;                                            \
    const uint8_t* p = panel.weights;                                                           \
    f32x16 acc[kRows][1];                                                                       \
    tile_begin(acc, out);                                                                       \
    int64_t block = 0, left = parts_of_block;                                                   \
    for (int64_t part = 0, group = 0; part < s.parts; part++) {                                 \
      u32x16 sum[kRows];                                                                        \
      POPRT_UNROLL for (int r = 0; r < kRows; r++) sum[r] = zero_products(                      \
          s, panel.zeros_of(block),                                                             \
          reinterpret_cast<const int32_t*>(rows + r * stride + values + 4 * s.parts)[part]);    \
      const int64_t end = groups - group < of_part ? groups : group + of_part;                  \
      for (; group < end; group++, p += 64) {                                                   \
        if (kRows <= 2) __builtin_prefetch(p + kBytesAhead);                                    \
        const u32x16 v = *reinterpret_cast<const u32x16n*>(p);                                  \
        const uint8_t* x = rows + group * kGroup;                                               \
        POPRT_UNROLL for (int j = 0; j < 8 / kBits; j++) {                                      \
          const u32x16 w = kBits == 8 ? v                                                       \
                                      : (v >> static_cast<uint32_t>(kBits * j)) &               \
                                            (0x01010101u * ((1u << kBits) - 1u));               \
          POPRT_UNROLL for (int r = 0; r < kRows; r++) sum[r] =                                 \
              add(sum[r], w, *reinterpret_cast<const loose_i32*>(x + r * stride + 4 * j));      \
        }                                                                                       \
      }                                                                                         \
      const f32x16 scale = panel.scale_of(block);                                               \
      POPRT_UNROLL for (int r = 0; r < kRows; r++) acc[r][0] = fma(                             \
          __builtin_convertvector(reinterpret_cast<i32x16>(sum[r]), f32x16),                    \
          scale * reinterpret_cast<const float*>(rows + r * stride + values)[part], acc[r][0]); \
      if (--left == 0) {                                                                        \
        block++;                                                                                \
        left = parts_of_block;                                                                  \
      }                                                                                         \
    }                                                                                           \
    tile_store(acc, out);                                                                       \
  }                                                                                             \
  template <int kBits, int kRows>                                                               \
  constexpr void name##_fill(ByteTile* at) {                                                    \
    at[kRows] = name<kBits, kRows>;                                                             \
    if constexpr (kRows > 1) name##_fill<kBits, kRows - 1>(at);                                 \
  }

using ByteTile = void (*)(const NarrowShape&, const NarrowPanel&, const uint8_t*, const TileOut&);
struct ByteTiles {
  ByteTile at[3][kByteRows + 1] = {};  // for 2, 4 and 8 bits
};

POPRT_BYTE_TILE(small_tile, , add_small)
constexpr ByteTiles make_small_tiles() {
  ByteTiles t;
  small_tile_fill<2, kByteRows>(t.at[0]);
  small_tile_fill<4, kByteRows>(t.at[1]);
  return t;
}
constexpr ByteTiles kSmallTiles = make_small_tiles();
#if defined(__AVX512BW__)
POPRT_BYTE_TILE(dot_tile, POPRT_VNNI, add_dots)
constexpr ByteTiles make_dot_tiles() {
  ByteTiles t;
  dot_tile_fill<2, kByteRows>(t.at[0]);
  dot_tile_fill<4, kByteRows>(t.at[1]);
  dot_tile_fill<8, kByteRows>(t.at[2]);
  return t;
}
constexpr ByteTiles kDotTiles = make_dot_tiles();
#endif

void narrow_bytes(bool vnni, const NarrowShape& s, const NarrowOperands& o,
                  const NarrowRange& range) noexcept {
  const ByteTiles* tiles = &kSmallTiles;
#if defined(__AVX512BW__)
  if (vnni) tiles = &kDotTiles;
#endif
  (void)vnni;
  const ByteTile* of_rows = tiles->at[static_cast<int>(s.format)];
  for (int64_t p = range.panel_begin; p < range.panel_end; p++) {
    const NarrowPanel panel(s, o, p);
    for (int64_t row = range.row_begin; row < range.row_end;) {
      const int64_t left = range.row_end - row, pieces = (left + kByteRows - 1) / kByteRows;
      const int64_t rows = (left + pieces - 1) / pieces;
      of_rows[rows](s, panel, o.rows + row * narrow_row_bytes(s),
                    narrow_out(s, o, row, p * kNarrowPanel, 1));
      row += rows;
    }
  }
}
#define POPRT_NARROW_BYTES narrow_bytes

#else
#define POPRT_NARROW_BYTES nullptr
#endif  // __AVX2__

}  // namespace
}  // namespace poprt::kernels::isa
