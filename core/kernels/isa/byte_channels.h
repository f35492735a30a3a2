// Convolution of bytes with as many groups as channels; included by byte_pixels.cpp only.
//
// With VNNI, the bytes of four lines of taps are interleaved by channel, so that one instruction
// adds four taps of sixteen channels. Interleaving takes two instructions for each vector and is
// done once for a column of the input, which pixels with overlapping windows share.
#pragma once

#include "kernels/isa/byte_pixels.h"
#include "kernels/isa/vnni_products.h"

namespace poprt::kernels::isa {
namespace {

typedef uint8_t bytes_t __attribute__((vector_size(16)));
typedef bytes_t loose_bytes __attribute__((aligned(1), may_alias));
typedef int32_t block_t __attribute__((vector_size(16)));
typedef block_t loose_block __attribute__((aligned(1), may_alias));

// The address of tap (line, kx) of pixel r.
POPRT_INLINE const uint8_t* channel_tap(const ChannelRows& c, int64_t line, int64_t kx, int64_t r) {
  if (c.shift == 0) return c.at[(line * c.width + kx) * kPixelRows + r];
  const int64_t x = c.x + r * c.shift + kx;
  return c.at[line] && x >= 0 && x < c.in ? c.at[line] + x * c.stride : c.pad;
}

// The weights of tap (line, kx) of sixteen channels. The order of `weights` is that of
// BytePixelTable::multiply_channels.
POPRT_INLINE i32x16 channel_weights(const ChannelRows& c, const int8_t* weights, int64_t line,
                                    int64_t kx, int vector) {
  const int8_t* quads = weights + (kx * ((c.lines + 3) / 4) + line / 4) * 4 * kPixelPanel;
  i32x16 w;
  for (int j = 0; j < 4; j++) {
    const auto block = *reinterpret_cast<const loose_block*>(quads + 64 * j + 16 * vector);
    for (int d = 0; d < 4; d++) w[4 * j + d] = block[d];
  }
  return w << static_cast<int32_t>(8 * (3 - line % 4)) >> 24;
}

// Processes sixteen channels at a time, so that their weights and sums stay in registers.
template <bool kFlip, int kRows>
void channels_tile(const ChannelRows& c, const int8_t* weights, int32_t* sums) {
  for (int v = 0; 16 * v < c.columns; v++) {
    i32x16 sum[kRows] = {};
    for (int64_t line = 0; line < c.lines; line++)
      for (int64_t kx = 0; kx < c.width; kx++) {
        const i32x16 w = channel_weights(c, weights, line, kx, v);
        for (int r = 0; r < kRows; r++) {
          const uint8_t* at = channel_tap(c, line, kx, r) + c.first + 16 * v;
          bytes_t x = *reinterpret_cast<const loose_bytes*>(at);
          if (kFlip) x ^= 0x80;
          sum[r] += __builtin_convertvector(x, i32x16) * w;
        }
      }
    for (int r = 0; r < kRows; r++)
      *reinterpret_cast<i32x16u*>(sums + r * kPixelPanel + 16 * v) = sum[r];
  }
}
template <bool kFlip>
void channels_rows(const ChannelRows& c, const int8_t* weights, int32_t* sums) {
  switch (c.rows) {
    case 1: return channels_tile<kFlip, 1>(c, weights, sums);
    case 2: return channels_tile<kFlip, 2>(c, weights, sums);
    case 3: return channels_tile<kFlip, 3>(c, weights, sums);
    case 4: return channels_tile<kFlip, 4>(c, weights, sums);
    case 5: return channels_tile<kFlip, 5>(c, weights, sums);
    case 6: return channels_tile<kFlip, 6>(c, weights, sums);
    default: return;
  }
}

#if defined(__AVX512BW__)
// Vectors of 64 channels, or of up to 32. Interleaving works within blocks of 128 bits, so vector j
// of four has channels 4 j .. 4 j + 3 of each sixteen; store() restores the order of the sums.
struct Wide {
  using V = __m512i;
  static POPRT_INLINE V load(const uint8_t* x, uint64_t mask) {
    return _mm512_maskz_loadu_epi8(mask, x);
  }
  static POPRT_INLINE V flip(V v) { return _mm512_xor_si512(v, _mm512_set1_epi8(-128)); }
  static POPRT_INLINE void interleave(const V (&x)[4], V (&quads)[4]) {
    const V a = _mm512_unpacklo_epi8(x[0], x[1]), b = _mm512_unpackhi_epi8(x[0], x[1]),
            c = _mm512_unpacklo_epi8(x[2], x[3]), d = _mm512_unpackhi_epi8(x[2], x[3]);
    quads[0] = _mm512_unpacklo_epi16(a, c);
    quads[1] = _mm512_unpackhi_epi16(a, c);
    quads[2] = _mm512_unpacklo_epi16(b, d);
    quads[3] = _mm512_unpackhi_epi16(b, d);
  }
  static POPRT_INLINE POPRT_VNNI V add(V sum, V quads, const int8_t* weights) {
    return _mm512_dpbusd_epi32(sum, quads, _mm512_loadu_si512(weights));
  }
  static POPRT_INLINE void store(int32_t* sums, const V (&v)[4]) {
    const V a = _mm512_shuffle_i32x4(v[0], v[1], 0x44), b = _mm512_shuffle_i32x4(v[2], v[3], 0x44),
            c = _mm512_shuffle_i32x4(v[0], v[1], 0xee), d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
    _mm512_storeu_si512(sums, _mm512_shuffle_i32x4(a, b, 0x88));
    _mm512_storeu_si512(sums + 16, _mm512_shuffle_i32x4(a, b, 0xdd));
    _mm512_storeu_si512(sums + 32, _mm512_shuffle_i32x4(c, d, 0x88));
    _mm512_storeu_si512(sums + 48, _mm512_shuffle_i32x4(c, d, 0xdd));
  }
};
struct Half {
  using V = __m256i;
  static POPRT_INLINE V load(const uint8_t* x, uint64_t mask) {
    return _mm256_maskz_loadu_epi8(static_cast<uint32_t>(mask), x);
  }
  static POPRT_INLINE V flip(V v) { return _mm256_xor_si256(v, _mm256_set1_epi8(-128)); }
  static POPRT_INLINE void interleave(const V (&x)[4], V (&quads)[4]) {
    const V a = _mm256_unpacklo_epi8(x[0], x[1]), b = _mm256_unpackhi_epi8(x[0], x[1]),
            c = _mm256_unpacklo_epi8(x[2], x[3]), d = _mm256_unpackhi_epi8(x[2], x[3]);
    quads[0] = _mm256_unpacklo_epi16(a, c);
    quads[1] = _mm256_unpackhi_epi16(a, c);
    quads[2] = _mm256_unpacklo_epi16(b, d);
    quads[3] = _mm256_unpackhi_epi16(b, d);
  }
  static POPRT_INLINE POPRT_VNNI V add(V sum, V quads, const int8_t* weights) {
    return _mm256_dpbusd_epi32(sum, quads,
                               _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights)));
  }
  static POPRT_INLINE void store(int32_t* sums, const V (&v)[4]) {
    const auto put = [&](int at, V x) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + at), x);
    };
    put(0, _mm256_permute2x128_si256(v[0], v[1], 0x20));
    put(8, _mm256_permute2x128_si256(v[2], v[3], 0x20));
    put(16, _mm256_permute2x128_si256(v[0], v[1], 0x31));
    put(24, _mm256_permute2x128_si256(v[2], v[3], 0x31));
  }
};

constexpr int64_t kMostLines = 8, kMostWidth = 7;

// Writes column kx of the window of pixel r: quads of its lines.
template <class L, bool kFlip>
POPRT_INLINE void put_column(const ChannelRows& c, int64_t r, int64_t kx, uint64_t mask,
                             typename L::V* to) {
  for (int64_t line0 = 0; line0 < c.lines; line0 += 4, to += 4) {
    typename L::V x[4] = {}, quads[4];
    for (int i = 0; i < 4; i++) {
      if (line0 + i >= c.lines) break;  // its weights are 0
      x[i] = L::load(channel_tap(c, line0 + i, kx, r) + c.first, mask);
      if (kFlip) x[i] = L::flip(x[i]);
    }
    L::interleave(x, quads);
    for (int i = 0; i < 4; i++) to[i] = quads[i];
  }
}

// The sums of kRows pixels whose windows start at intervals of `step` vectors.
template <class L, int kRows>
POPRT_VNNI void multiply_columns(const typename L::V* columns, int64_t step, int64_t count,
                                 const int8_t* weights, int32_t* sums) {
  typename L::V sum[kRows][4] = {};
  for (int64_t i = 0; i < count; i++, columns += 4, weights += 4 * kPixelPanel)
    for (int r = 0; r < kRows; r++)
      for (int j = 0; j < 4; j++)
        sum[r][j] = L::add(sum[r][j], columns[r * step + j], weights + 64 * j);
  for (int r = 0; r < kRows; r++) L::store(sums + r * kPixelPanel, sum[r]);
}

template <class L, bool kFlip>
POPRT_VNNI void channels_vnni(const ChannelRows& c, const int8_t* weights, int32_t* sums) {
  typename L::V columns[4 * (kMostLines / 4) * kPixelRows * kMostWidth];
  const uint64_t mask = c.columns >= 64 ? ~uint64_t{0} : (uint64_t{1} << c.columns) - 1;
  const int64_t depth = (c.lines + 3) / 4 * 4, count = c.width * depth / 4;
  const bool shared = c.shift > 0 && c.shift < c.width;
  if (!shared) {
    for (int64_t r = 0; r < c.rows; r++) {
      for (int64_t kx = 0; kx < c.width; kx++)
        put_column<L, kFlip>(c, r, kx, mask, columns + kx * depth);
      multiply_columns<L, 1>(columns, 0, count, weights, sums + r * kPixelPanel);
    }
    return;
  }
  for (int64_t i = 0; i < (c.rows - 1) * c.shift + c.width; i++) {
    const int64_t r = i / c.shift < c.rows ? i / c.shift : c.rows - 1;
    put_column<L, kFlip>(c, r, i - r * c.shift, mask, columns + i * depth);
  }
  const int64_t step = c.shift * depth;
  switch (c.rows) {
    case 1: return multiply_columns<L, 1>(columns, step, count, weights, sums);
    case 2: return multiply_columns<L, 2>(columns, step, count, weights, sums);
    case 3: return multiply_columns<L, 3>(columns, step, count, weights, sums);
    case 4: return multiply_columns<L, 4>(columns, step, count, weights, sums);
    case 5: return multiply_columns<L, 5>(columns, step, count, weights, sums);
    case 6: return multiply_columns<L, 6>(columns, step, count, weights, sums);
    default: return;
  }
}
#endif

void multiply_channels(bool flip, bool vnni, const ChannelRows& c, const int8_t* weights,
                       int32_t* sums) noexcept {
#if defined(__AVX512BW__)
  if (vnni && c.lines <= kMostLines && c.width <= kMostWidth) {
    if (c.columns <= 32)
      return flip ? channels_vnni<Half, true>(c, weights, sums)
                  : channels_vnni<Half, false>(c, weights, sums);
    return flip ? channels_vnni<Wide, true>(c, weights, sums)
                : channels_vnni<Wide, false>(c, weights, sums);
  }
#endif
  (void)vnni;
  flip ? channels_rows<true>(c, weights, sums) : channels_rows<false>(c, weights, sums);
}

}  // namespace
}  // namespace poprt::kernels::isa
