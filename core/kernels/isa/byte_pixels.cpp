#include "kernels/isa/byte_pixels.h"

#include "kernels/isa/byte_channels.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/math.h"
#include "kernels/isa/pair_products.h"
#include "kernels/isa/vnni_products.h"

namespace poprt::kernels::isa {
namespace {

// Defines `name`, a tile of kRows pixels and kVectors times 16 columns. It multiplies four bytes of
// each pixel at a time, which are signed if kFlip, by `add_products`: add_vnni or add_plain.
#define POPRT_PIXEL_TILE(name, target, add_products)                                          \
  template <bool kFlip, int kVectors, int kRows>                                              \
  target void name(const PixelRows& p, const uint8_t* panel, int32_t* sums) {                 \
    u32x16 sum[kRows][kVectors] = {};                                                         \
    for (int64_t t = 0; t < p.taps; t++) {                                                    \
      const uint8_t* at[kRows];                                                               \
      for (int r = 0; r < kRows; r++) at[r] = p.at[t * kPixelRows + r];                       \
      for (int64_t q = 0; q < p.quads; q++, panel += 4 * kPixelPanel)                         \
        for (int r = 0; r < kRows; r++) {                                                     \
          int32_t quad = *reinterpret_cast<const loose_i32*>(at[r] + 4 * q);                  \
          if (kFlip) quad ^= static_cast<int32_t>(0x80808080u);                               \
          for (int v = 0; v < kVectors; v++)                                                  \
            sum[r][v] = add_products<false>(sum[r][v], panel + 64 * v, quad);                 \
        }                                                                                     \
    }                                                                                         \
    for (int r = 0; r < kRows; r++)                                                           \
      for (int v = 0; v < kVectors; v++)                                                      \
        *reinterpret_cast<u32x16u*>(sums + r * kPixelPanel + 16 * v) = sum[r][v];             \
  }                                                                                           \
  template <bool kFlip, int kVectors>                                                         \
  void name##_rows(const PixelRows& p, const uint8_t* panel, int32_t* sums) {                 \
    switch (p.rows) {                                                                         \
      case 1: return name<kFlip, kVectors, 1>(p, panel, sums);                                \
      case 2: return name<kFlip, kVectors, 2>(p, panel, sums);                                \
      case 3: return name<kFlip, kVectors, 3>(p, panel, sums);                                \
      case 4: return name<kFlip, kVectors, 4>(p, panel, sums);                                \
      case 5: return name<kFlip, kVectors, 5>(p, panel, sums);                                \
      case 6: return name<kFlip, kVectors, 6>(p, panel, sums);                                \
      default: return;                                                                        \
    }                                                                                         \
  }                                                                                           \
  template <bool kFlip>                                                                       \
  void name##_vectors(const PixelRows& p, const uint8_t* panel, int vectors, int32_t* sums) { \
    switch (vectors) {                                                                        \
      case 1: return name##_rows<kFlip, 1>(p, panel, sums);                                   \
      case 2: return name##_rows<kFlip, 2>(p, panel, sums);                                   \
      case 3: return name##_rows<kFlip, 3>(p, panel, sums);                                   \
      default: return name##_rows<kFlip, 4>(p, panel, sums);                                  \
    }                                                                                         \
  }
static_assert(kPixelRows == 6 && kPixelPanel == 64);

#if defined(__AVX512BW__)
POPRT_PIXEL_TILE(vnni_tile, POPRT_VNNI, add_vnni)
#endif
#if defined(__AVX2__) && !defined(__AVX512BW__)
static_assert(kPairRows == kPixelRows && kPairPanel == kPixelPanel);
// The quads of all taps are consecutive in the panel, so pieces of them may cross taps.
template <bool kFlip>
void plain_tile_vectors(const PixelRows& p, const uint8_t* panel, int vectors, int32_t* sums) {
  RowPairs pairs;
  bool add = false;
  const auto multiply_piece = [&] {
    pair_products<true>(pairs, p.rows, panel, nullptr, vectors, add, sums);
    panel += pairs.count * kPairBytes;
    pairs.count = 0;
    add = true;
  };
  for (int64_t t = 0; t < p.taps; t++) {
    for (int64_t q = 0; q < p.quads;) {
      const int64_t room = kPairPiece - pairs.count;
      const int64_t n = p.quads - q < room ? p.quads - q : room;
      for (int64_t r = 0; r < p.rows; r++)
        for (int64_t i = 0; i < n; i++) {
          auto quad = static_cast<uint32_t>(
              *reinterpret_cast<const loose_i32*>(p.at[t * kPixelRows + r] + 4 * (q + i)));
          if (kFlip) quad ^= 0x80808080u;
          separate_row<false>(quad, pairs.at[pairs.count + i][r]);
        }
      q += n;
      pairs.count += n;
      if (pairs.count == kPairPiece) multiply_piece();
    }
  }
  if (pairs.count || !add) multiply_piece();
}
#else
POPRT_PIXEL_TILE(plain_tile, , add_plain)
#endif

void multiply(bool flip, bool vnni, const PixelRows& rows, const uint8_t* panel, int vectors,
              int32_t* sums) noexcept {
#if defined(__AVX512BW__)
  if (vnni)
    return flip ? vnni_tile_vectors<true>(rows, panel, vectors, sums)
                : vnni_tile_vectors<false>(rows, panel, vectors, sums);
#endif
  (void)vnni;
  flip ? plain_tile_vectors<true>(rows, panel, vectors, sums)
       : plain_tile_vectors<false>(rows, panel, vectors, sums);
}

// round(v) between least and most, plus zero.
POPRT_INLINE i32x16 to_byte(f32x16 v, int32_t zero, float least, float most) {
  return to_i32(vround(vmax(vmin(v, splat(most)), splat(least)))) + zero;
}

POPRT_INLINE i32x16 byte_of(const int32_t* sums, const PixelBytes& how, int64_t j) {
  const u32x16 sum = *reinterpret_cast<const u32x16u*>(sums + j) +
                     *reinterpret_cast<const u32x16u*>(how.offset + j);
  return to_byte(to_f32(reinterpret_cast<i32x16>(sum)) * load(how.scale + j), how.zero, how.least,
                 how.most);
}

POPRT_INLINE void put(uint8_t* y, i32x16 v, int64_t n) {
  const bytes_t narrow = __builtin_convertvector(v, bytes_t);
  if (n >= 16) {
    *reinterpret_cast<loose_bytes*>(y) = narrow;
    return;
  }
  for (int64_t i = 0; i < n; i++) y[i] = narrow[i];
}

// The values of bytes, of which the lowest is `low`.
POPRT_INLINE i32x16 get(const uint8_t* x, int32_t low, int64_t n) {
  bytes_t narrow{};
  if (n >= 16)
    narrow = *reinterpret_cast<const loose_bytes*>(x);
  else
    for (int64_t i = 0; i < n; i++) narrow[i] = x[i];
  if (low) narrow ^= 0x80;
  return __builtin_convertvector(narrow, i32x16) + low;
}

#if defined(__AVX512BW__)
// 64 numbers round(v) + zero as saturated bytes. Conversions round to nearest even; numbers that
// are too small become the least integer, so only large numbers must be clamped first.
POPRT_INLINE __m512i panel_of(const f32x16 (&v)[4], int32_t zero, bool is_signed) {
  const __m512i zeros = _mm512_set1_epi16(static_cast<short>(zero));
  __m512i whole[4], pairs[2];
  for (int i = 0; i < 4; i++)
    whole[i] = _mm512_cvtps_epi32(reinterpret_cast<__m512>(vmin(v[i], splat(0x1p20f))));
  for (int i = 0; i < 2; i++)
    pairs[i] = _mm512_adds_epi16(_mm512_packs_epi32(whole[2 * i], whole[2 * i + 1]), zeros);
  const __m512i mixed =
      is_signed ? _mm512_packs_epi16(pairs[0], pairs[1]) : _mm512_packus_epi16(pairs[0], pairs[1]);
  // Packing works within blocks of 128 bits, so four bytes of each vector are together; this order
  // puts all bytes of a vector together.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, mixed);
}

POPRT_INLINE f32x16 scaled_sum(const int32_t* sums, const PixelBytes& how, int64_t j) {
  const u32x16 sum = *reinterpret_cast<const u32x16u*>(sums + j) +
                     *reinterpret_cast<const u32x16u*>(how.offset + j);
  return to_f32(reinterpret_cast<i32x16>(sum)) * load(how.scale + j);
}

// Processes rows of kVectors times 16 columns, as many at a time as have at most 64 numbers.
template <int kVectors>
POPRT_INLINE void rows_to_bytes(const int32_t* sums, const PixelBytes& how, int64_t rows,
                                int64_t columns, uint8_t* y, int64_t stride) {
  constexpr int64_t kAtOnce = 4 / kVectors;
  u32x16 offset[kVectors];
  f32x16 scale[kVectors];
  for (int i = 0; i < kVectors; i++) {
    offset[i] = *reinterpret_cast<const u32x16u*>(how.offset + 16 * i);
    scale[i] = load(how.scale + 16 * i);
  }
  const f32x16 least = splat(how.least), most = splat(how.most);
  const __mmask64 mask = ~uint64_t{0} >> (kPixelPanel - columns);
  for (int64_t r = 0; r < rows; r += kAtOnce) {
    f32x16 v[4] = {};
    for (int64_t k = 0; k < kAtOnce; k++)
      for (int i = 0; i < kVectors; i++) {
        const int64_t row = r + k < rows ? r + k : r;
        const u32x16 sum =
            *reinterpret_cast<const u32x16u*>(sums + row * kPixelPanel + 16 * i) + offset[i];
        v[k * kVectors + i] =
            vmax(vmin(to_f32(reinterpret_cast<i32x16>(sum)) * scale[i], most), least);
      }
    const __m512i all = panel_of(v, how.zero, how.low != 0);
    _mm512_mask_storeu_epi8(y + r * stride, mask, all);
    if constexpr (kAtOnce > 1)
      if (r + 1 < rows)
        _mm512_mask_storeu_epi8(y + (r + 1) * stride, mask,
                                _mm512_alignr_epi32(all, all, 4 * kVectors));
    if constexpr (kAtOnce > 2) {
      if (r + 2 < rows)
        _mm512_mask_storeu_epi8(y + (r + 2) * stride, mask, _mm512_alignr_epi32(all, all, 8));
      if (r + 3 < rows)
        _mm512_mask_storeu_epi8(y + (r + 3) * stride, mask, _mm512_alignr_epi32(all, all, 12));
    }
  }
}

// Rounds like the quotient, but multiplies by the reciprocal if that gives the same result, which
// is the case unless the quotient is close to the middle between two integers.
POPRT_INLINE void panel_and_residual(const int32_t* sums, const PixelBytes& how,
                                     const PixelResidual& more, const uint8_t* residual,
                                     uint8_t* y) {
  const f32x16 scale = splat(more.scale), residual_scale = splat(more.residual_scale),
               inverse = splat(1.0f / more.y_scale),
               residual_zero = splat(static_cast<float>(more.residual_zero)),
               least = splat(how.least), most = splat(how.most);
  f32x16 v[4], quotient[4];
  i32x16 doubtful{};
  for (int i = 0; i < 4; i++) {
    const f32x16 byte = vround(vmax(vmin(scaled_sum(sums, how, 16 * i), most), least));
    const f32x16 other = to_f32(get(residual + 16 * i, more.residual_low, 16)) - residual_zero;
    v[i] = byte * scale + other * residual_scale;
    if (more.relu) v[i] = vmax(v[i], zero());
    // Quotients beyond 512 are saturated in any case, so their rounding does not matter.
    quotient[i] = vmax(vmin(v[i] * inverse, splat(512)), splat(-512));
    doubtful |= vabs(quotient[i] - vround(quotient[i])) > 0.499f;
  }
  if (_mm512_test_epi32_mask(reinterpret_cast<__m512i>(doubtful),
                             reinterpret_cast<__m512i>(doubtful))) {
    const f32x16 y_scale = splat(more.y_scale);
    for (int i = 0; i < 4; i++) quotient[i] = v[i] / y_scale;
  }
  _mm512_storeu_si512(y, panel_of(quotient, more.y_zero, more.y_low != 0));
}
#endif

// Copies the parameters, because for the compiler the result could alias them.
void bytes(const int32_t* sums, const PixelBytes& given, int64_t rows, int64_t columns, uint8_t* y,
           int64_t stride) noexcept {
  const PixelBytes how = given;
#if defined(__AVX512BW__)
  switch ((columns + 15) / 16) {
    case 1: return rows_to_bytes<1>(sums, how, rows, columns, y, stride);
    case 2: return rows_to_bytes<2>(sums, how, rows, columns, y, stride);
    case 3: return rows_to_bytes<3>(sums, how, rows, columns, y, stride);
    default: return rows_to_bytes<4>(sums, how, rows, columns, y, stride);
  }
#else
  for (int64_t r = 0; r < rows; r++, sums += kPixelPanel, y += stride)
    for (int64_t j = 0; j < columns; j += 16) put(y + j, byte_of(sums, how, j), columns - j);
#endif
}

void bytes_and_residual(const int32_t* sums, const PixelBytes& given, const PixelResidual& extra,
                        const uint8_t* residual, int64_t columns, uint8_t* y) noexcept {
  const PixelBytes how = given;
  const PixelResidual more = extra;
#if defined(__AVX512BW__)
  if (columns == kPixelPanel) return panel_and_residual(sums, how, more, residual, y);
#endif
  const f32x16 scale = splat(more.scale), residual_scale = splat(more.residual_scale),
               y_scale = splat(more.y_scale);
  for (int64_t j = 0; j < columns; j += 16) {
    const f32x16 a = to_f32(byte_of(sums, how, j) - how.zero) * scale;
    const f32x16 b =
        to_f32(get(residual + j, more.residual_low, columns - j) - more.residual_zero) *
        residual_scale;
    f32x16 v = a + b;
    if (more.relu) v = vmax(v, zero());
    const auto least = static_cast<float>(more.y_low - more.y_zero);
    put(y + j, to_byte(v / y_scale, more.y_zero, least, least + 255), columns - j);
  }
}

}  // namespace

extern const BytePixelTable POPRT_ISA_NAME(byte_pixels);
const BytePixelTable POPRT_ISA_NAME(byte_pixels) = {multiply, multiply_channels, bytes,
                                                    bytes_and_residual};

}  // namespace poprt::kernels::isa
