#include "kernels/isa/quantize.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

template <class T>
struct Lanes {
  typedef T V __attribute__((vector_size(16 * sizeof(T))));
  typedef V U __attribute__((aligned(1), may_alias));
};

template <class T>
POPRT_INLINE f32x16 load_whole(const T* p, int64_t n) {
  if (n == 16)
    return __builtin_convertvector(*reinterpret_cast<const typename Lanes<T>::U*>(p), f32x16);
  f32x16 v{};
  for (int64_t i = 0; i < n; i++) v[i] = static_cast<float>(p[i]);
  return v;
}

template <class T>
POPRT_INLINE void store_whole(T* p, f32x16 v, int64_t n) {
  constexpr float low = sizeof(T) == 1 ? (T(-1) < 0 ? -128 : 0) : (T(-1) < 0 ? -32768 : 0);
  constexpr float high = low + (sizeof(T) == 1 ? 255 : 65535);
  const i32x16 whole = to_i32(clamp(is_nan(v) ? zero() : v, low, high));
  const auto out = __builtin_convertvector(whole, typename Lanes<T>::V);
  if (n == 16) {
    *reinterpret_cast<typename Lanes<T>::U*>(p) = out;
    return;
  }
  for (int64_t i = 0; i < n; i++) p[i] = out[i];
}

// Calls f(i, lanes) for every sixteen elements.
template <class F>
POPRT_INLINE void each(int64_t n, F f) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) f(i, int64_t{16});
  if (i < n) f(i, n - i);
}

template <class T>
POPRT_INLINE void quantize_to(T* out, const float* x, const float* scale, const float* zero_point,
                              bool many, int64_t n) {
  if (many)
    return each(n, [&](int64_t i, int64_t l) {
      const f32x16 s = l == 16 ? load(scale + i) : load_first(scale + i, l);
      store_whole(out + i, vround(load_first(x + i, l) / s) + load_first(zero_point + i, l), l);
    });
  const f32x16 s = splat(*scale), z = splat(*zero_point);
  each(n, [&](int64_t i, int64_t l) {
    store_whole(out + i, vround(load_first(x + i, l) / s) + z, l);
  });
}

void quantize(Whole to, void* out, const float* x, const float* scale, const float* zero_point,
              bool many, int64_t n) noexcept {
  switch (to) {
    case Whole::s8: return quantize_to(static_cast<int8_t*>(out), x, scale, zero_point, many, n);
    case Whole::u8: return quantize_to(static_cast<uint8_t*>(out), x, scale, zero_point, many, n);
    case Whole::s16: return quantize_to(static_cast<int16_t*>(out), x, scale, zero_point, many, n);
    case Whole::u16: return quantize_to(static_cast<uint16_t*>(out), x, scale, zero_point, many, n);
    default: return;
  }
}

template <class T>
POPRT_INLINE void dequantize_from(float* out, const T* x, const float* scale,
                                  const float* zero_point, bool many, int64_t n) {
  if (many)
    return each(n, [&](int64_t i, int64_t l) {
      const f32x16 v = load_whole(x + i, l) - load_first(zero_point + i, l);
      store_first(out + i, v * load_first(scale + i, l), l);
    });
  const f32x16 s = splat(*scale), z = splat(*zero_point);
  each(n, [&](int64_t i, int64_t l) { store_first(out + i, (load_whole(x + i, l) - z) * s, l); });
}

void dequantize(Whole from, float* out, const void* x, const float* scale, const float* zero_point,
                bool many, int64_t n) noexcept {
  switch (from) {
    case Whole::s8:
      return dequantize_from(out, static_cast<const int8_t*>(x), scale, zero_point, many, n);
    case Whole::u8:
      return dequantize_from(out, static_cast<const uint8_t*>(x), scale, zero_point, many, n);
    case Whole::s16:
      return dequantize_from(out, static_cast<const int16_t*>(x), scale, zero_point, many, n);
    case Whole::u16:
      return dequantize_from(out, static_cast<const uint16_t*>(x), scale, zero_point, many, n);
    case Whole::s32:
      return dequantize_from(out, static_cast<const int32_t*>(x), scale, zero_point, many, n);
  }
}

template <class T>
POPRT_INLINE void requantize_to(T* out, const int32_t* x, const float* scale, float zero_point,
                                bool many, int64_t n) {
  const f32x16 z = splat(zero_point), one = splat(*scale);
  each(n, [&](int64_t i, int64_t l) {
    const f32x16 s = many ? load_first(scale + i, l) : one;
    store_whole(out + i, vround(load_whole(x + i, l) * s) + z, l);
  });
}

void requantize(Whole to, void* out, const int32_t* x, const float* scale, float zero_point,
                bool many, int64_t n) noexcept {
  if (to == Whole::s8)
    requantize_to(static_cast<int8_t*>(out), x, scale, zero_point, many, n);
  else
    requantize_to(static_cast<uint8_t*>(out), x, scale, zero_point, many, n);
}

void range(const float* x, int64_t n, float* low, float* high) noexcept {
  f32x16 l[4], h[4];
  for (int k = 0; k < 4; k++) l[k] = splat(*low), h[k] = splat(*high);
  int64_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (int k = 0; k < 4; k++) {
      const f32x16 v = load(x + i + 16 * k);
      l[k] = v < l[k] ? v : l[k];
      h[k] = v > h[k] ? v : h[k];
    }
  float lows[64], highs[64];
  for (int k = 0; k < 4; k++) store(lows + 16 * k, l[k]), store(highs + 16 * k, h[k]);
  for (const float v : lows) *low = v < *low ? v : *low;
  for (const float v : highs) *high = v > *high ? v : *high;
  for (; i < n; i++) {
    *low = x[i] < *low ? x[i] : *low;
    *high = x[i] > *high ? x[i] : *high;
  }
}

template <class T>
POPRT_INLINE void sum_of(const T* x, int64_t n, int64_t inner, int32_t* sums) {
  if (inner == 1) {
    uint32_t total = 0;
    for (int64_t i = 0; i < n; i++) total += static_cast<uint32_t>(x[i]);
    *sums = static_cast<int32_t>(total);
    return;
  }
  for (int64_t i = 0; i < inner; i++) sums[i] = 0;
  for (int64_t k = 0; k < n; k++, x += inner)
    for (int64_t i = 0; i < inner; i++)
      sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + static_cast<uint32_t>(x[i]));
}

void sum(bool is_signed, const uint8_t* x, int64_t n, int64_t inner, int32_t* sums) noexcept {
  if (is_signed)
    sum_of(reinterpret_cast<const int8_t*>(x), n, inner, sums);
  else
    sum_of(x, n, inner, sums);
}

#if defined(__AVX512BW__)
__attribute__((target("avx512vbmi"))) int64_t map_vbmi(const uint8_t* table, const uint8_t* x,
                                                       uint8_t* y, int64_t n) {
  __m512i t[4];
  for (int i = 0; i < 4; i++) t[i] = _mm512_loadu_si512(table + 64 * i);
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const __m512i at = _mm512_loadu_si512(x + i);
    const __m512i low = _mm512_permutex2var_epi8(t[0], at, t[1]);
    const __m512i high = _mm512_permutex2var_epi8(t[2], at, t[3]);
    _mm512_storeu_si512(y + i, _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(at), high));
  }
  return i;
}
#endif

void map(bool vbmi, const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t n) noexcept {
  int64_t i = 0;
#if defined(__AVX512BW__)
  if (vbmi) i = map_vbmi(table, x, y, n);
#else
  (void)vbmi;
#endif
  for (; i < n; i++) y[i] = table[x[i]];
}

}  // namespace

extern const QuantizeTable POPRT_ISA_NAME(quantize);
const QuantizeTable POPRT_ISA_NAME(quantize) = {quantize, dequantize, requantize, range, sum, map};

}  // namespace poprt::kernels::isa
