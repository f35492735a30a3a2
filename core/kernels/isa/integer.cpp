#include "kernels/isa/integer.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace poprt::kernels::isa {
namespace {

typedef u32x16 u32x16u __attribute__((aligned(4), may_alias));
typedef int32_t pair_t __attribute__((aligned(2), may_alias));

// Lane j: p[2j] * low half of the pair + p[2j + 1] * its high half.
POPRT_INLINE u32x16 multiply_pairs(const int16_t* p, int32_t pair) {
#if defined(__AVX512BW__)
  return reinterpret_cast<u32x16>(
      _mm512_madd_epi16(_mm512_loadu_si512(p), _mm512_set1_epi32(pair)));
#elif defined(__AVX2__)
  const __m256i x = _mm256_set1_epi32(pair);
  u32x16 result;
  const __m256i low = _mm256_madd_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), x);
  const __m256i high =
      _mm256_madd_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 16)), x);
  __builtin_memcpy(&result, &low, 32);
  __builtin_memcpy(reinterpret_cast<char*>(&result) + 32, &high, 32);
  return result;
#elif defined(__SSE2__)
  const __m128i x = _mm_set1_epi32(pair);
  u32x16 result;
  for (int i = 0; i < 4; i++) {
    const __m128i v = _mm_madd_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i), x);
    __builtin_memcpy(reinterpret_cast<char*>(&result) + 16 * i, &v, 16);
  }
  return result;
#else
  const int32_t x0 = static_cast<int16_t>(pair), x1 = pair >> 16;
  u32x16 result;
  for (int j = 0; j < 16; j++) result[j] = static_cast<uint32_t>(p[2 * j] * x0 + p[2 * j + 1] * x1);
  return result;
#endif
}

template <int kRows>
void tile(const int16_t* a, int64_t lda, const int16_t* panel, int64_t pairs, int32_t* sums) {
  u32x16 sum[kRows][4];
  for (int r = 0; r < kRows; r++)
    for (int i = 0; i < 4; i++)
      sum[r][i] = *reinterpret_cast<const u32x16u*>(sums + r * kIntegerPanel + 16 * i);
  for (int64_t k = 0; k < pairs; k++, panel += 2 * kIntegerPanel)
    for (int r = 0; r < kRows; r++) {
      const int32_t pair = *reinterpret_cast<const pair_t*>(a + r * lda + 2 * k);
      for (int i = 0; i < 4; i++) sum[r][i] += multiply_pairs(panel + 32 * i, pair);
    }
  for (int r = 0; r < kRows; r++)
    for (int i = 0; i < 4; i++)
      *reinterpret_cast<u32x16u*>(sums + r * kIntegerPanel + 16 * i) = sum[r][i];
}

void multiply(const int16_t* a, int64_t lda, int64_t rows, const int16_t* panel, int64_t pairs,
              int32_t* sums) noexcept {
#if defined(__AVX512BW__)
  if (rows == kIntegerRows) return tile<kIntegerRows>(a, lda, panel, pairs, sums);
#endif
  for (int64_t r = 0; r < rows; r++)
    tile<1>(a + r * lda, lda, panel, pairs, sums + r * kIntegerPanel);
}

}  // namespace

extern const IntegerTable POPRT_ISA_NAME(integer);
const IntegerTable POPRT_ISA_NAME(integer) = {multiply};

}  // namespace poprt::kernels::isa
