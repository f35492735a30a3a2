// Products of narrow integer weights and rows of bytes (isa/narrow.h). A mask selects the same
// field of the four bytes of every column, which is one operand of a dot of bytes; the other one is
// four bytes of a row. Weights are unsigned, so the sums begin with the zero point times minus the
// sum of the row.
//
// A tile has up to kByteRows rows of one panel, or half of them of two panels. In two panels, a
// register of four broadcast bytes is an operand of two dots, so loads do not limit the speed.
#pragma once

#include "kernels/isa/narrow_weights.h"
#include "kernels/isa/vnni_products.h"

namespace poprt::kernels::isa {
namespace {

#if defined(__AVX512BW__)
constexpr int kByteRows = 12, kByteVectors = 2;
#elif defined(__AVX2__)
constexpr int kByteRows = 2, kByteVectors = 1;
#endif

#if defined(__AVX2__)

// The distance of the prefetch in bytes. Products of one or two rows are limited by the speed of
// the memory: with 4096 bytes, weights of 4 bits that are read from memory take up to 9 % longer.
// Without a prefetch, the first tile of many rows waits for its weights: prompts of 64 tokens take
// 12 % longer (Zen 5).
constexpr int kBytesAhead = 8192;

using u8x16 = uint8_t __attribute__((vector_size(16)));
typedef u8x16 u8x16u __attribute__((aligned(1), may_alias));

// The zero points of 16 columns times minus the sum of a part of a row. Without `zeros`, minus_sum
// already contains the factor of the single zero point.
POPRT_INLINE u32x16 zero_products(const uint8_t* zeros, uint32_t minus_sum) {
  if (!zeros) return u32x16{} + minus_sum;
  return __builtin_convertvector(*reinterpret_cast<const u8x16u*>(zeros), u32x16) * minus_sum;
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

#define POPRT_BYTE_TILE(name, target, add)                                                         \
  template <int kBits, int kRows, int kVectors>                                                    \
  target void name(const NarrowShape& s, const NarrowOperands& o, int64_t row, int64_t at) {       \
    constexpr int kGroup = 32 / kBits;                                                             \
    const int64_t stride = narrow_row_bytes(s);                                                    \
    const int64_t groups = narrow_groups(s.format, s.k), of_part = s.part / kGroup;                \
    const int64_t parts_of_block = s.block / s.part;                                               \
    const NarrowPanel panels[2] = {NarrowPanel(s, o, at), NarrowPanel(s, o, at + kVectors - 1)};   \
    const int64_t next = panels[1].weights - panels[0].weights;                                    \
    const uint8_t* p = panels[0].weights;                                                          \
    /* Each pointer serves three rows: an address can contain one or two times the stride. */      \
    constexpr int kBases = (kRows + 2) / 3;                                                        \
    const uint8_t* base[kBases];                                                                   \
    POPRT_UNROLL for (int i = 0; i < kBases; i++) base[i] = o.rows + (row + 3 * i) * stride;       \
    const TileOut out = narrow_out(s, o, row, at * kNarrowPanel, kVectors);                        \
    f32x16 acc[kRows][kVectors];                                                                   \
    tile_begin(acc, out);                                                                          \
    int64_t block = 0, left = parts_of_block;                                                      \
    for (int64_t part = 0, group = 0; part < s.parts; part++) {                                    \
      u32x16 sum[kRows][kVectors];                                                                 \
      POPRT_UNROLL for (int r = 0; r < kRows; r++) {                                               \
        const uint8_t* x = base[r / 3] + r % 3 * stride;                                           \
        POPRT_UNROLL for (int q = 0; q < kVectors; q++) sum[r][q] =                                \
            zero_products(panels[q].zeros_of(block), *reinterpret_cast<const uint32_t*>(x + 4));   \
      }                                                                                            \
      const int64_t end = groups - group < of_part ? groups : group + of_part;                     \
      POPRT_UNROLL for (int i = 0; i < kBases; i++) base[i] += 8;                                  \
      const int64_t of_this = end - group;                                                         \
      for (; group < end; group++, p += 64) {                                                      \
        POPRT_UNROLL for (int q = 0; q < kVectors; q++)                                            \
            __builtin_prefetch(p + q * next + kBytesAhead);                                        \
        u32x16 v[kVectors];                                                                        \
        POPRT_UNROLL for (int q = 0; q < kVectors; q++) v[q] =                                     \
            *reinterpret_cast<const u32x16n*>(p + q * next);                                       \
        POPRT_UNROLL for (int j = 0; j < 8 / kBits; j++) {                                         \
          u32x16 w[kVectors];                                                                      \
          POPRT_UNROLL for (int q = 0; q < kVectors; q++) w[q] =                                   \
              kBits == 8 ? v[q]                                                                    \
                         : (v[q] >> static_cast<uint32_t>(kBits * j)) &                            \
                               (0x01010101u * ((1u << kBits) - 1u));                               \
          POPRT_UNROLL for (int r = 0; r < kRows; r++) {                                           \
            const uint8_t* x = base[r / 3] + r % 3 * stride;                                       \
            const int32_t quad = *reinterpret_cast<const loose_i32*>(x + 4 * j);                   \
            POPRT_UNROLL for (int q = 0; q < kVectors; q++) sum[r][q] =                            \
                add(sum[r][q], w[q], quad);                                                        \
          }                                                                                        \
        }                                                                                          \
        POPRT_UNROLL for (int i = 0; i < kBases; i++) base[i] += kGroup;                           \
      }                                                                                            \
      const int64_t back = -8 - of_this * kGroup;                                                  \
      f32x16 scale[kVectors];                                                                      \
      POPRT_UNROLL for (int q = 0; q < kVectors; q++) scale[q] = panels[q].scale_of(block);        \
      POPRT_UNROLL for (int r = 0; r < kRows; r++) {                                               \
        /* Prevents moving the products of later rows to here, where they would take registers. */ \
        asm volatile("" ::: "memory");                                                             \
        const uint8_t* x = base[r / 3] + r % 3 * stride + back;                                    \
        const float times = *reinterpret_cast<const float*>(x);                                    \
        POPRT_UNROLL for (int q = 0; q < kVectors; q++) acc[r][q] =                                \
            fma(__builtin_convertvector(reinterpret_cast<i32x16>(sum[r][q]), f32x16),              \
                scale[q] * times, acc[r][q]);                                                      \
      }                                                                                            \
      if (--left == 0) {                                                                           \
        block++;                                                                                   \
        left = parts_of_block;                                                                     \
      }                                                                                            \
    }                                                                                              \
    tile_store(acc, out);                                                                          \
  }                                                                                                \
  template <int kBits, int kRows, int kVectors>                                                    \
  constexpr void name##_fill(ByteTile* at) {                                                       \
    at[kRows] = name<kBits, kRows, kVectors>;                                                      \
    if constexpr (kRows > (kVectors > 1 ? 4 : 1)) name##_fill<kBits, kRows - 1, kVectors>(at);     \
  }

using ByteTile = void (*)(const NarrowShape&, const NarrowOperands&, int64_t row, int64_t panel);
struct ByteTiles {
  ByteTile one[3][kByteRows + 1] = {};      // of one panel, for 2, 4 and 8 bits
  ByteTile two[3][kByteRows / 2 + 1] = {};  // of two panels, for at least 4 rows
};

POPRT_BYTE_TILE(small_tile, , add_small)
constexpr ByteTiles make_small_tiles() {
  ByteTiles t;
  small_tile_fill<2, kByteRows, 1>(t.one[0]);
  small_tile_fill<4, kByteRows, 1>(t.one[1]);
  if constexpr (kByteVectors > 1) {
    small_tile_fill<2, kByteRows / 2, kByteVectors>(t.two[0]);
    small_tile_fill<4, kByteRows / 2, kByteVectors>(t.two[1]);
  }
  return t;
}
constexpr ByteTiles kSmallTiles = make_small_tiles();
#if defined(__AVX512BW__)
POPRT_BYTE_TILE(dot_tile, POPRT_VNNI, add_dots)
constexpr ByteTiles make_dot_tiles() {
  ByteTiles t;
  dot_tile_fill<2, kByteRows, 1>(t.one[0]);
  dot_tile_fill<4, kByteRows, 1>(t.one[1]);
  dot_tile_fill<8, kByteRows, 1>(t.one[2]);
  dot_tile_fill<2, kByteRows / 2, kByteVectors>(t.two[0]);
  dot_tile_fill<4, kByteRows / 2, kByteVectors>(t.two[1]);
  dot_tile_fill<8, kByteRows / 2, kByteVectors>(t.two[2]);
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
  const auto format = static_cast<int>(s.format);
  for (int64_t p = range.panel_begin; p < range.panel_end;) {
    const bool two =
        kByteVectors > 1 && p + 1 < range.panel_end && range.row_end - range.row_begin > kByteRows;
    const int64_t most = two ? kByteRows / 2 : kByteRows;
    for (int64_t row = range.row_begin; row < range.row_end;) {
      const int64_t left = range.row_end - row, pieces = (left + most - 1) / most;
      const int64_t rows = (left + pieces - 1) / pieces;
      (two ? tiles->two[format] : tiles->one[format])[rows](s, o, row, p);
      row += rows;
    }
    p += two ? 2 : 1;
  }
}
#define POPRT_NARROW_BYTES narrow_bytes

#else
#define POPRT_NARROW_BYTES nullptr
#endif  // __AVX2__

}  // namespace
}  // namespace poprt::kernels::isa
