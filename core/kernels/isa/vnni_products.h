// The innermost step of isa/vnni.cpp and isa/byte_pixels.cpp: multiplies sixteen columns of four
// bytes by four bytes of a row. One operand is signed, the other unsigned; nothing saturates.
#pragma once

#include "kernels/isa/pair_products.h"
#include "kernels/isa/vec.h"

namespace poprt::kernels::isa {
namespace {

typedef u32x16 u32x16u __attribute__((aligned(1), may_alias));
typedef int32_t loose_i32 __attribute__((aligned(1), may_alias));

// sum[j] += bytes of column j times the bytes of a quad of the row, for sixteen columns.
#if defined(__AVX512BW__)
#define POPRT_VNNI __attribute__((target("avx512vnni")))
template <bool kRowsSigned>
POPRT_INLINE POPRT_VNNI u32x16 add_vnni(u32x16 sum, const uint8_t* panel, int32_t quad) {
  const __m512i s = reinterpret_cast<__m512i>(sum), p = _mm512_loadu_si512(panel),
                q = _mm512_set1_epi32(quad);
  return reinterpret_cast<u32x16>(kRowsSigned ? _mm512_dpbusd_epi32(s, p, q)
                                              : _mm512_dpbusd_epi32(s, q, p));
}

// Without VNNI, bytes are multiplied as 16-bit pairs.
template <bool kRowsSigned>
POPRT_INLINE u32x16 add_plain(u32x16 sum, const uint8_t* panel, int32_t quad) {
  const __m128i bytes = _mm_cvtsi32_si128(quad);
  const __m512i q =
      _mm512_broadcastq_epi64(kRowsSigned ? _mm_cvtepi8_epi16(bytes) : _mm_cvtepu8_epi16(bytes));
  const auto half = [&](const uint8_t* from) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_madd_epi16(kRowsSigned ? _mm512_cvtepu8_epi16(x) : _mm512_cvtepi8_epi16(x), q);
  };
  const auto a = reinterpret_cast<u32x16>(half(panel)),
             b = reinterpret_cast<u32x16>(half(panel + 32));
  return sum +
         __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
         __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}
#elif defined(__AVX2__)
template <bool kRowsSigned>
POPRT_INLINE u32x16 add_plain(u32x16 sum, const uint8_t* panel, int32_t quad) {
  __m256i x[2], y[2];  // even and odd pairs of the row and of eight columns (isa/pair_products.h)
  separate<kRowsSigned>(_mm256_set1_epi32(quad), x[0], x[1]);
  u32x16 products;
  for (int h = 0; h < 2; h++) {
    separate<!kRowsSigned>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel + 32 * h)),
                           y[0], y[1]);
    const __m256i sums =
        _mm256_add_epi32(_mm256_madd_epi16(x[0], y[0]), _mm256_madd_epi16(x[1], y[1]));
    __builtin_memcpy(reinterpret_cast<char*>(&products) + 32 * h, &sums, 32);
  }
  return sum + products;
}
#else
template <bool kRowsSigned>
POPRT_INLINE u32x16 add_plain(u32x16 sum, const uint8_t* panel, int32_t quad) {
  for (int t = 0; t < 4; t++) {
    const auto byte = static_cast<uint8_t>(quad >> (8 * t));
    const int32_t q = kRowsSigned ? static_cast<int8_t>(byte) : byte;
    u32x16 p;
    for (int j = 0; j < 16; j++)
      p[j] = static_cast<uint32_t>(kRowsSigned ? panel[4 * j + t]
                                               : static_cast<int8_t>(panel[4 * j + t]));
    sum += p * static_cast<uint32_t>(q);
  }
  return sum;
}
#endif

}  // namespace
}  // namespace poprt::kernels::isa
