// Sixteen floats as one value, on every instruction set. The sources in core/kernels/isa/ are
// compiled once for each instruction set (POPRT_ISA = baseline, avx2, avx512). The compiler splits
// the vectors if registers are narrower, so packed layouts are the same everywhere. Results
// differ by fused multiply-adds and by the order of sums. Include nothing here except <cstdint> /
// <cstddef> and intrinsics; cmake/layers.cmake explains why.
#pragma once

#include <cstddef>
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define POPRT_INLINE inline __attribute__((always_inline))

namespace poprt::kernels::isa {
namespace {  // internal linkage: each instruction set has separate copies

using f32x16 = float __attribute__((vector_size(64)));
using i32x16 = int32_t __attribute__((vector_size(64)));
using u32x16 = uint32_t __attribute__((vector_size(64)));
// Vectors with the alignment of one element. They have a second typedef, because clang ignores an
// alignment in the same attribute list as vector_size.
typedef f32x16 f32x16u __attribute__((aligned(4), may_alias));
typedef i32x16 i32x16u __attribute__((aligned(4), may_alias));

POPRT_INLINE f32x16 load(const float* p) { return *reinterpret_cast<const f32x16u*>(p); }
POPRT_INLINE void store(float* p, f32x16 v) { *reinterpret_cast<f32x16u*>(p) = v; }
POPRT_INLINE f32x16 splat(float x) { return x - f32x16{}; }  // x - (+0) is x, also for -0
POPRT_INLINE f32x16 zero() { return f32x16{}; }
POPRT_INLINE f32x16 fma(f32x16 a, f32x16 b, f32x16 c) { return a * b + c; }
// If either operand is NaN, the result is b.
POPRT_INLINE f32x16 vmax(f32x16 a, f32x16 b) { return a > b ? a : b; }
POPRT_INLINE f32x16 vmin(f32x16 a, f32x16 b) { return a < b ? a : b; }

// The first n of 16 lanes (0 <= n <= 16). Other lanes are loaded as zero, and are not stored.
#if defined(__AVX512F__)
POPRT_INLINE f32x16 load_first(const float* p, int64_t n) {
  return reinterpret_cast<f32x16>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p));
}
POPRT_INLINE void store_first(float* p, f32x16 v, int64_t n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1u), reinterpret_cast<__m512>(v));
}
#elif defined(__AVX2__)
POPRT_INLINE __m256i first_lanes(int64_t n) {  // masks of the first n of 8 lanes, for any n
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
POPRT_INLINE f32x16 load_first(const float* p, int64_t n) {
  const __m256 lo = _mm256_maskload_ps(p, first_lanes(n));
  const __m256 hi = _mm256_maskload_ps(p + 8, first_lanes(n - 8));
  f32x16 v;
  __builtin_memcpy(&v, &lo, 32);
  __builtin_memcpy(reinterpret_cast<char*>(&v) + 32, &hi, 32);
  return v;
}
POPRT_INLINE void store_first(float* p, f32x16 v, int64_t n) {
  if (n == 16) return store(p, v);
  __m256 lo, hi;
  __builtin_memcpy(&lo, &v, 32);
  __builtin_memcpy(&hi, reinterpret_cast<const char*>(&v) + 32, 32);
  _mm256_maskstore_ps(p, first_lanes(n), lo);
  _mm256_maskstore_ps(p + 8, first_lanes(n - 8), hi);
}
#else
POPRT_INLINE f32x16 load_first(const float* p, int64_t n) {
  if (n == 16) return load(p);
  f32x16 v{};
  for (int64_t i = 0; i < n; i++) v[i] = p[i];
  return v;
}
POPRT_INLINE void store_first(float* p, f32x16 v, int64_t n) {
  if (n == 16) return store(p, v);
  for (int64_t i = 0; i < n; i++) p[i] = v[i];
}
#endif

// Conversion between IEEE half and float, 16 lanes.
#if defined(__AVX512F__)
POPRT_INLINE f32x16 load_f16(const uint16_t* p) {
  return reinterpret_cast<f32x16>(
      _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}
#elif defined(__F16C__)
POPRT_INLINE f32x16 load_f16(const uint16_t* p) {
  const __m256 lo = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  const __m256 hi = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)));
  f32x16 v;
  __builtin_memcpy(&v, &lo, 32);
  __builtin_memcpy(reinterpret_cast<char*>(&v) + 32, &hi, 32);
  return v;
}
#else
POPRT_INLINE f32x16 load_f16(const uint16_t* p) {
  f32x16 v;
  for (int i = 0; i < 16; i++) {
    const uint32_t h = p[i], sign = (h & 0x8000u) << 16, e = (h >> 10) & 31, m = h & 0x3ffu;
    const float tiny = static_cast<float>(m) * 0x1p-24f;
    uint32_t u = 0;
    __builtin_memcpy(&u, &tiny, 4);
    if (e == 31) u = 0x7f800000u | (m << 13);
    if (e != 0 && e != 31) u = ((e + 112) << 23) | (m << 13);
    u |= sign;
    float f;
    __builtin_memcpy(&f, &u, 4);
    v[i] = f;
  }
  return v;
}
#endif

POPRT_INLINE float sum(f32x16 v) {  // in a fixed pairwise order
  float t[16];
  store(t, v);
  for (int step = 8; step; step /= 2)
    for (int i = 0; i < step; i++) t[i] += t[i + step];
  return t[0];
}
POPRT_INLINE float max_lane(f32x16 v) {
  float t[16];
  store(t, v);
  for (int step = 8; step; step /= 2)
    for (int i = 0; i < step; i++) t[i] = t[i] > t[i + step] ? t[i] : t[i + step];
  return t[0];
}

}  // namespace
}  // namespace poprt::kernels::isa
