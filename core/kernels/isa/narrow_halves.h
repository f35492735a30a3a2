// Products of f16 weights and rows of f16 (isa/narrow.h) with AVX512-FP16, which computes 32
// multiply-adds of f16 in an instruction. Example, for 40 values of k:
//
//   part 1 = a[0] w[0] + ... + a[31] w[31]   a chain of 32 multiply-adds, each rounded to f16
//   part 2 = a[32] w[32] + ... + a[39] w[39]
//   sum    = part 1 + part 2                 in f32
//   c      = sum / scale + bias              the row has been multiplied by scale
//
// to_halves() multiplies each row by a power of two, so that its largest magnitude is in [16, 32).
// So a part overflows only if a weight is 64 or larger, and values that are small relative to the
// largest one of their row are not lost. A part that overflows is infinite or NaN, and so is every
// sum that contains it; such a row is then computed in f32.
//
// The error is at most that of 33 roundings to f16 of each product (one of a, and 32 of its part),
// and 2^-29 of the largest magnitude of the row for each k, times 1 + the magnitude of the weight.
//
// EmulatedHalves computes the same bits without AVX512-FP16. Only tests use it.
#pragma once

#include "kernels/isa/narrow_weights.h"
#include "kernels/isa/vnni_products.h"

namespace poprt::kernels::isa {
namespace {

#if defined(__AVX512F__)

using Halves = __m512i;  // 32 numbers of f16

// x * w + sum, with one rounding. The assembler knows the instruction without the option that lets
// a compiler use it anywhere in this file.
struct NativeHalves {
  static POPRT_INLINE Halves fma(Halves x, Halves w, Halves sum) {
    asm("vfmadd231ph %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
    return sum;
  }
};

struct EmulatedHalves {
  static __attribute__((noinline)) Halves fma(Halves x, Halves w, Halves sum) {
    alignas(64) __m128i of[3][4];
    _mm512_store_si512(of[0], x);
    _mm512_store_si512(of[1], w);
    _mm512_store_si512(of[2], sum);
    for (int i = 0; i < 4; i++) of[0][i] = of_eight(of[0][i], of[1][i], of[2][i]);
    return _mm512_load_si512(of[0]);
  }

 private:
  // The product of two halves is exact in f64, and so is its sum with a half, unless the product is
  // too small to change the half. The bits that f32 lacks set its lowest bit, so that only the
  // conversion to f16 rounds.
  static POPRT_INLINE __m128i of_eight(__m128i x, __m128i w, __m128i sum) {
    const __m512i exact = _mm512_castpd_si512(
        _mm512_fmadd_pd(widened_to_f64(x), widened_to_f64(w), widened_to_f64(sum)));
    const __m512i lacking = _mm512_set1_epi64((1 << 29) - 1);
    const __m512i kept = _mm512_andnot_si512(lacking, exact);
    const __m512i odd = _mm512_mask_or_epi64(kept, _mm512_test_epi64_mask(exact, lacking), kept,
                                             _mm512_set1_epi64(1 << 29));
    return _mm256_cvtps_ph(_mm512_cvtpd_ps(_mm512_castsi512_pd(odd)), 0);
  }
  static POPRT_INLINE __m512d widened_to_f64(__m128i v) {
    return _mm512_cvtps_pd(_mm256_cvtph_ps(v));
  }
};

constexpr int kHalfRows = 12, kHalfColumns = 2;  // a column of a tile is two panels
constexpr int64_t kHalfPart = 32;                // products of a sum in f16
constexpr int64_t kHalfDepth = 512;              // values of k whose weights stay in the L2 cache
constexpr int64_t kHalfBlock = 144;              // rows whose sums are in the buffer
constexpr int64_t kHalfSums = kHalfColumns * 2 * kNarrowPanel;  // of a row
static_assert(kHalfBlock * kHalfSums <= kNarrowBuffer && kHalfDepth % kHalfPart == 0);

// The columns of a tile: weights of column q begin at w + 2 q panels, and its second panel is
// `second[q]` bytes after the first, or 0 if there is none.
struct HalfIn {
  const uint8_t* w;
  int64_t panel, second[kHalfColumns];
  const uint8_t* x;
  int64_t stride;  // of rows, whose values are in both halves of 32 bits
  int64_t values;
};

POPRT_INLINE void add_part(float* sums, Halves part) {
  store(sums, load(sums) + reinterpret_cast<f32x16>(_mm512_cvtph_ps(_mm512_castsi512_si256(part))));
  store(sums + 16, load(sums + 16) + reinterpret_cast<f32x16>(
                                         _mm512_cvtph_ps(_mm512_extracti64x4_epi64(part, 1))));
}

// Adds the products of kRows rows and kColumns columns to `sums`, [row][kHalfSums].
template <class Arithmetic, int kRows, int kColumns>
void half_tile(const HalfIn& in, float* sums) {
  const uint8_t *w = in.w, *x = in.x;
  const int64_t stride = in.stride, panel = in.panel;
  int64_t second[kColumns];
  POPRT_UNROLL for (int q = 0; q < kColumns; q++) second[q] = in.second[q];
  for (int64_t left = in.values; left > 0; left -= kHalfPart) {
    Halves part[kRows][kColumns];
    POPRT_UNROLL for (int r = 0; r < kRows; r++) POPRT_UNROLL for (int q = 0; q < kColumns; q++)
        part[r][q] = _mm512_setzero_si512();
    const int64_t values = left < kHalfPart ? left : kHalfPart;
    for (int64_t i = 0; i < values; i++, w += 32, x += 4) {
      // Prevents moving the loads of later steps to here, where they would take the registers of
      // the sums.
      asm volatile("" ::: "memory");
      Halves column[kColumns];
      POPRT_UNROLL for (int q = 0; q < kColumns; q++) {
        const uint8_t* const first = w + 2 * q * panel;
        column[q] = _mm512_inserti64x4(
            _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(first))),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first + second[q])), 1);
      }
      POPRT_UNROLL for (int r = 0; r < kRows; r++) {
        const Halves a = _mm512_set1_epi32(*reinterpret_cast<const loose_i32*>(x + r * stride));
        POPRT_UNROLL for (int q = 0; q < kColumns; q++) part[r][q] =
            Arithmetic::fma(a, column[q], part[r][q]);
      }
    }
    POPRT_UNROLL for (int r = 0; r < kRows; r++) POPRT_UNROLL for (int q = 0; q < kColumns; q++)
        add_part(sums + r * kHalfSums + q * 32, part[r][q]);
  }
}

using HalfTile = void (*)(const HalfIn&, float*);
struct HalfTiles {
  HalfTile at[kHalfRows + 1][kHalfColumns + 1] = {};
};
template <class Arithmetic, int kRows, int kColumns>
constexpr void fill_half_tiles(HalfTiles& t) {
  t.at[kRows][kColumns] = half_tile<Arithmetic, kRows, kColumns>;
  if constexpr (kColumns > 1)
    fill_half_tiles<Arithmetic, kRows, kColumns - 1>(t);
  else if constexpr (kRows > 1)
    fill_half_tiles<Arithmetic, kRows - 1, kHalfColumns>(t);
}
template <class Arithmetic>
constexpr HalfTiles make_half_tiles() {
  HalfTiles t;
  fill_half_tiles<Arithmetic, kHalfRows, kHalfColumns>(t);
  return t;
}
constexpr HalfTiles kNativeHalfTiles = make_half_tiles<NativeHalves>();
constexpr HalfTiles kEmulatedHalfTiles = make_half_tiles<EmulatedHalves>();

// A row of f16 begins with the reciprocal of its scale.
constexpr int64_t kHalfHead = 64;

void to_halves(const NarrowShape& s, const float* a, uint8_t* rows, int64_t row_begin,
               int64_t row_end) noexcept {
  const int64_t stride = narrow_half_bytes(s.k);
  const auto first = [&](const float* x, int64_t k) {
    return load_first(x + k, s.k - k < 16 ? s.k - k : int64_t{16});
  };
  for (int64_t row = row_begin; row < row_end; row++) {
    const float* x = a + row * s.k;
    auto* to = reinterpret_cast<u32x16n*>(rows + row * stride + kHalfHead);
    // The bits of magnitudes have the order of the magnitudes; those of NaN are the largest.
    i32x16 most{};
    for (int64_t k = 0; k < s.k; k += 16) {
      const i32x16 bits = reinterpret_cast<i32x16>(first(x, k)) & 0x7fffffff;
      most = bits > most ? bits : most;
    }
    int32_t top = 0;
    for (int i = 0; i < 16; i++) top = most[i] > top ? most[i] : top;
    // The biased exponent of the largest magnitude; both scales are normal numbers. A row with an
    // infinity or NaN has results that are not finite and are computed in f32.
    const int32_t exponent = top >> 23 < 5 ? 5 : top >> 23;
    const int32_t scale_bits = (258 - exponent) << 23, inverse_bits = (exponent - 4) << 23;
    float scale = 0;
    __builtin_memcpy(&scale, &scale_bits, 4);
    __builtin_memcpy(rows + row * stride, &inverse_bits, 4);
    for (int64_t k = 0; k < s.k; k += 16, to++) {
      const u32x16 half = __builtin_convertvector(to_f16_bits(first(x, k) * splat(scale)), u32x16);
      *to = half | half << 16;
    }
  }
}

// Stores a row of results in `panels` panels, and returns whether all sums are finite. If not,
// nothing is stored.
template <int kPanels>
bool store_half_row(const float* sums, float inverse, const TileOut& out) {
  f32x16 acc[1][kPanels];
  tile_begin(acc, out);
  u32x16 most{};
  POPRT_UNROLL for (int q = 0; q < kPanels; q++) {
    acc[0][q] = fma(load(sums + 16 * q), splat(inverse), acc[0][q]);
    const u32x16 bits = reinterpret_cast<u32x16>(acc[0][q]) & 0x7fffffffu;
    most = bits > most ? bits : most;
  }
  if (_mm512_cmpge_epu32_mask(reinterpret_cast<__m512i>(most), _mm512_set1_epi32(0x7f800000)))
    return false;
  tile_store(acc, out);
  return true;
}

POPRT_INLINE bool store_half_row(const float* sums, float inverse, const TileOut& out,
                                 int64_t panels) {
  switch (panels) {
    case 1: return store_half_row<1>(sums, inverse, out);
    case 2: return store_half_row<2>(sums, inverse, out);
    case 3: return store_half_row<3>(sums, inverse, out);
    default: return store_half_row<4>(sums, inverse, out);
  }
}

// Adds the products of some rows with the up to four panels of `range` to `sums`.
void half_sums(const HalfTiles& tiles, const NarrowShape& s, const NarrowOperands& o,
               const NarrowRange& range, float* sums) {
  const int64_t values = narrow_groups(s.format, s.k) * narrow_group(s.format);
  const int64_t panels = range.panel_end - range.panel_begin, stride = narrow_half_bytes(s.k);
  HalfIn in{};
  in.panel = values * 32;
  in.stride = stride;
  for (int q = 0; q < kHalfColumns; q++) in.second[q] = 2 * q + 1 < panels ? in.panel : 0;
  for (int64_t k = 0; k < values; k += kHalfDepth) {
    in.values = values - k < kHalfDepth ? values - k : kHalfDepth;
    in.w = o.panels + range.panel_begin * in.panel + k * 32;
    for (int64_t row = range.row_begin; row < range.row_end;) {
      const int64_t left = range.row_end - row, pieces = (left + kHalfRows - 1) / kHalfRows;
      const int64_t rows = (left + pieces - 1) / pieces;
      in.x = o.rows + row * stride + kHalfHead + k * 4;
      tiles.at[rows][(panels + 1) / 2](in, sums + (row - range.row_begin) * kHalfSums);
      row += rows;
    }
  }
}

// `in_f32` computes one row of some panels in f32.
template <class InF32>
void narrow_halves(bool native, const NarrowShape& s, const NarrowOperands& o,
                   const NarrowRange& range, float* sums, InF32 in_f32) {
  const HalfTiles& tiles = native ? kNativeHalfTiles : kEmulatedHalfTiles;
  constexpr int64_t kPanels = 2 * kHalfColumns;
  for (int64_t row = range.row_begin; row < range.row_end; row += kHalfBlock) {
    const int64_t end = range.row_end - row < kHalfBlock ? range.row_end : row + kHalfBlock;
    for (int64_t p = range.panel_begin; p < range.panel_end; p += kPanels) {
      const int64_t panels = range.panel_end - p < kPanels ? range.panel_end - p : kPanels;
      for (int64_t i = 0; i < (end - row) * kHalfSums; i += 16) store(sums + i, zero());
      half_sums(tiles, s, o, {row, end, p, p + panels}, sums);
      for (int64_t r = row; r < end; r++) {
        float inverse = 0;
        __builtin_memcpy(&inverse, o.rows + r * narrow_half_bytes(s.k), 4);
        const TileOut out = narrow_out(s, o, r, p * kNarrowPanel, panels);
        if (!store_half_row(sums + (r - row) * kHalfSums, inverse, out, panels))
          in_f32(NarrowRange{r, r + 1, p, p + panels});
      }
    }
  }
}

#endif

}  // namespace
}  // namespace poprt::kernels::isa
