// Products of bytes with AVX2: tiles of isa/vnni.cpp and isa/byte_pixels.cpp on CPUs without VNNI.
//
// Four bytes of a column are two pairs of 16-bit numbers: bytes 0 and 2, and bytes 1 and 3, which a
// mask and a shift separate. A multiply-add of 16-bit pairs then sums two products of a column into
// its 32-bit lane without saturation, so no sum crosses lanes:
//
//   column      b0 b1 b2 b3  ->  even pair (b0, b2), odd pair (b1, b3)
//   row         a0 a1 a2 a3  ->  even pair (a0, a2), odd pair (a1, a3)
//   sum        += madd(even, even) + madd(odd, odd) = a0 b0 + a2 b2 + a1 b1 + a3 b3
//
// The pairs of the rows are separated once for all 64 columns of a panel.
#pragma once

#include "kernels/isa/vec.h"

#if defined(__AVX2__) && !defined(__AVX512BW__)
namespace poprt::kernels::isa {
namespace {

constexpr int64_t kPairRows = 6, kPairPanel = 64;
constexpr int64_t kPairBytes = 4 * kPairPanel;  // bytes of four rows of a panel
constexpr int64_t kPairPiece = 64;              // the most quads whose pairs are kept

// The pairs of some quads (four bytes each) of at most six rows.
struct RowPairs {
  int64_t count = 0;                     // quads
  int32_t at[kPairPiece][kPairRows][2];  // even and odd pair; rows that do not exist are unset
};

template <bool kSigned>
POPRT_INLINE void separate(__m256i bytes, __m256i& even, __m256i& odd) {
  if constexpr (kSigned) {
    even = _mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8);
    odd = _mm256_srai_epi16(bytes, 8);
  } else {
    even = _mm256_and_si256(bytes, _mm256_set1_epi16(0xff));
    odd = _mm256_srli_epi16(bytes, 8);
  }
}

POPRT_INLINE int32_t pair_of(int32_t low, int32_t high) {
  return static_cast<int32_t>(static_cast<uint32_t>(low) & 0xffffu) |
         static_cast<int32_t>(static_cast<uint32_t>(high) << 16);
}
template <bool kSigned>
POPRT_INLINE void separate_row(uint32_t quad, int32_t (&pair)[2]) {
  const auto byte = [&](int i) {
    const auto b = static_cast<uint8_t>(quad >> (8 * i));
    return kSigned ? int32_t{static_cast<int8_t>(b)} : int32_t{b};
  };
  if constexpr (kSigned) {
    pair[0] = pair_of(byte(0), byte(2));
    pair[1] = pair_of(byte(1), byte(3));
  } else {
    pair[0] = static_cast<int32_t>(quad & 0x00ff00ffu);
    pair[1] = static_cast<int32_t>(quad >> 8 & 0x00ff00ffu);
  }
}

// sums[r][j] (+)= products of kRows rows, from `first` on, and 16 * vectors columns. Quad i of the
// panel is at data + offsets[i], or at data + i * kPairBytes if `offsets` is null.
template <bool kColumnsSigned, int kRows>
POPRT_INLINE void pair_tile(const RowPairs& rows, int64_t first, const uint8_t* data,
                            const int32_t* offsets, int vectors, bool add, int32_t* sums) {
  sums += first * kPairPanel;
  for (int v = 0; v < vectors; v++, data += 64, sums += 16) {
    __m256i sum[kRows][2] = {};
    const auto place = [&](int r, int h) {
      return reinterpret_cast<__m256i*>(sums + r * kPairPanel + 8 * h);
    };
    if (add)
      for (int r = 0; r < kRows; r++)
        for (int h = 0; h < 2; h++) sum[r][h] = _mm256_loadu_si256(place(r, h));
    for (int64_t i = 0; i < rows.count; i++) {
      const uint8_t* at = data + (offsets ? int64_t{offsets[i]} : i * kPairBytes);
      __m256i even[2], odd[2];
      for (int h = 0; h < 2; h++)
        separate<kColumnsSigned>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32 * h)),
                                 even[h], odd[h]);
      for (int r = 0; r < kRows; r++) {
        const __m256i x = _mm256_set1_epi32(rows.at[i][first + r][0]),
                      y = _mm256_set1_epi32(rows.at[i][first + r][1]);
        for (int h = 0; h < 2; h++)
          sum[r][h] = _mm256_add_epi32(sum[r][h], _mm256_add_epi32(_mm256_madd_epi16(even[h], x),
                                                                   _mm256_madd_epi16(odd[h], y)));
      }
    }
    for (int r = 0; r < kRows; r++)
      for (int h = 0; h < 2; h++) _mm256_storeu_si256(place(r, h), sum[r][h]);
  }
}

// Sums of n rows, 1 <= n <= 6, at most three at a time, so that they remain in registers.
template <bool kColumnsSigned>
void pair_products(const RowPairs& rows, int64_t n, const uint8_t* data, const int32_t* offsets,
                   int vectors, bool add, int32_t* sums) {
  for (int64_t r = 0; r < n; r += 3) switch (n - r) {
      case 1: pair_tile<kColumnsSigned, 1>(rows, r, data, offsets, vectors, add, sums); break;
      case 2: pair_tile<kColumnsSigned, 2>(rows, r, data, offsets, vectors, add, sums); break;
      default: pair_tile<kColumnsSigned, 3>(rows, r, data, offsets, vectors, add, sums); break;
    }
}

}  // namespace
}  // namespace poprt::kernels::isa
#endif
