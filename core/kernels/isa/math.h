// Elementary functions on sixteen floats. The polynomials were fitted for these files (weighted
// minimax on Chebyshev nodes). The stated errors are relative, measured against double precision
// (tests/core/kernels/elementwise_test.cpp). Limits at infinities are exact, and NaN remains NaN.
#pragma once

#include "kernels/isa/vec.h"

namespace poprt::kernels::isa {
namespace {

POPRT_INLINE i32x16 bits(f32x16 v) { return reinterpret_cast<i32x16>(v); }
POPRT_INLINE f32x16 from_bits(i32x16 v) { return reinterpret_cast<f32x16>(v); }
POPRT_INLINE i32x16 isplat(int32_t x) { return i32x16{} + x; }
POPRT_INLINE f32x16 to_f32(i32x16 v) { return __builtin_convertvector(v, f32x16); }
// Truncates; lanes must be in the range of int32.
POPRT_INLINE i32x16 to_i32(f32x16 v) { return __builtin_convertvector(v, i32x16); }
POPRT_INLINE f32x16 vselect(i32x16 mask, f32x16 a, f32x16 b) { return mask ? a : b; }

POPRT_INLINE f32x16 vabs(f32x16 x) { return from_bits(bits(x) & 0x7fffffff); }
POPRT_INLINE f32x16 sign_bit(f32x16 x) {
  return from_bits(bits(x) & static_cast<int32_t>(0x80000000u));
}
// The magnitude of m (not negative) with the sign of s.
POPRT_INLINE f32x16 with_sign(f32x16 m, f32x16 s) {
  return from_bits(bits(m) | (bits(s) & static_cast<int32_t>(0x80000000u)));
}
POPRT_INLINE i32x16 is_nan(f32x16 x) { return x != x; }
// Clamps; a NaN in x is kept.
POPRT_INLINE f32x16 clamp(f32x16 x, float lo, float hi) {
  const f32x16 l = splat(lo), h = splat(hi);
  const f32x16 y = l > x ? l : x;
  return h < y ? h : y;
}

POPRT_INLINE f32x16 vsqrt(f32x16 x) {
#if defined(__AVX512F__)
  return reinterpret_cast<f32x16>(_mm512_sqrt_ps(reinterpret_cast<__m512>(x)));
#else
  float t[16];
  store(t, x);
  for (int i = 0; i < 16; i++) t[i] = __builtin_sqrtf(t[i]);
  return load(t);
#endif
}

#if defined(__AVX512F__)
POPRT_INLINE f32x16 vfloor(f32x16 x) {
  return reinterpret_cast<f32x16>(_mm512_roundscale_ps(reinterpret_cast<__m512>(x), 9));
}
POPRT_INLINE f32x16 vceil(f32x16 x) {
  return reinterpret_cast<f32x16>(_mm512_roundscale_ps(reinterpret_cast<__m512>(x), 10));
}
POPRT_INLINE f32x16 vround(f32x16 x) {  // ties to even
  return reinterpret_cast<f32x16>(_mm512_roundscale_ps(reinterpret_cast<__m512>(x), 8));
}
POPRT_INLINE f32x16 vtrunc(f32x16 x) {
  return reinterpret_cast<f32x16>(_mm512_roundscale_ps(reinterpret_cast<__m512>(x), 11));
}
#else
// From 2^23 on, x is an integer (or NaN); below, the conversion through int32 is exact.
POPRT_INLINE f32x16 vtrunc(f32x16 x) {
  const i32x16 small = vabs(x) < 0x1p23f;
  const f32x16 t = to_f32(to_i32(small ? x : zero()));
  return small ? with_sign(vabs(t), x) : x;
}
POPRT_INLINE f32x16 vfloor(f32x16 x) {
  const f32x16 t = vtrunc(x);
  return t > x ? t - 1.0f : t;
}
POPRT_INLINE f32x16 vceil(f32x16 x) {
  const f32x16 t = vtrunc(x);
  return t < x ? with_sign(vabs(t + 1.0f), x) : t;
}
POPRT_INLINE f32x16 vround(f32x16 x) {
  const f32x16 a = vabs(x);
  const f32x16 r = (a + 0x1p23f) - 0x1p23f;
  return a < 0x1p23f ? with_sign(r, x) : x;
}
#endif

// x * 2^n for a normal x near 1 and an integer -252 <= n <= 254. If n is NaN, x must be NaN, and so
// is the result. Overflows to infinity and underflows gradually.
POPRT_INLINE f32x16 scale2(f32x16 x, f32x16 n) {
#if defined(__AVX512F__)
  return reinterpret_cast<f32x16>(
      _mm512_scalef_ps(reinterpret_cast<__m512>(x), reinterpret_cast<__m512>(n)));
#else
  const i32x16 whole = to_i32(is_nan(n) ? zero() : n), half = whole >> 1;
  return x * from_bits((half + 127) << 23) * from_bits((whole - half + 127) << 23);
#endif
}

// x = n ln 2 + r with |r| <= ln 2 / 2, and q = (e^r - 1 - r) / r^2.
struct ExpParts {
  f32x16 n, r, q;
};
POPRT_INLINE ExpParts exp_parts(f32x16 x) {
  ExpParts p;
  p.n = vround(x * 1.44269504088896f);
  p.r = fma(p.n, splat(-0.693145751953125f), x);
  p.r = fma(p.n, splat(-1.42860682030941723e-6f), p.r);
  p.q = splat(0.001395058468915522f);
  p.q = fma(p.q, p.r, splat(0.008368954993784428f));
  p.q = fma(p.q, p.r, splat(0.04166620597243309f));
  p.q = fma(p.q, p.r, splat(0.166665181517601f));
  p.q = fma(p.q, p.r, splat(0.5f));
  return p;
}

// e^x, error 1e-7.
POPRT_INLINE f32x16 vexp(f32x16 x) {
  x = clamp(x, -104.0f, 89.0f);
  const ExpParts p = exp_parts(x);
  return scale2(fma(p.q * p.r, p.r, p.r) + 1.0f, p.n);
}

// e^x - 1 without cancellation, error 2e-7.
POPRT_INLINE f32x16 vexpm1(f32x16 x) {
  x = clamp(x, -30.0f, 89.0f);
  const ExpParts p = exp_parts(x);
  const f32x16 n = is_nan(p.n) ? zero() : p.n;
  // 2^(n-1) is finite for some n for which 2^n is not.
  const f32x16 s = from_bits((to_i32(n) + 126) << 23);
  const f32x16 m = fma(p.q * p.r, p.r, p.r);
  const f32x16 y = (fma(m, s, s - 0.5f)) * 2.0f;
  return x == 0.0f ? x : y;
}

// ln(x), error 1e-7; near 1 the absolute error is 6e-8.
POPRT_INLINE f32x16 vlog(f32x16 x) {
  const i32x16 tiny = x < 0x1p-126f;
  const f32x16 v = tiny ? x * 0x1p23f : x;
  // m in [sqrt(1/2), sqrt 2): subtracting the bits of sqrt(1/2) carries into the exponent.
  const i32x16 u = bits(v) - 0x3f3504f3;
  const f32x16 e = to_f32((u >> 23) + (tiny & isplat(-23)));
  const f32x16 m = from_bits((u & 0x007fffff) + 0x3f3504f3);
  const f32x16 f = m - 1.0f;
  f32x16 p = splat(-0.07633892446756363f);
  p = fma(p, f, splat(0.12761333584785461f));
  p = fma(p, f, splat(-0.13160297274589539f));
  p = fma(p, f, splat(0.14201799035072327f));
  p = fma(p, f, splat(-0.16623349487781525f));
  p = fma(p, f, splat(0.20001225173473358f));
  p = fma(p, f, splat(-0.250008225440979f));
  p = fma(p, f, splat(0.3333333134651184f));
  const f32x16 f2 = f * f;
  f32x16 y = fma(p * f, f2, e * -2.12194440e-4f);
  y = fma(f2, splat(-0.5f), y) + f;
  y = fma(e, splat(0.693359375f), y);
  const float inf = __builtin_inff();
  y = x > 0.0f ? y : splat(__builtin_nanf(""));
  y = x == 0.0f ? splat(-inf) : y;
  return x == inf ? x : y;
}

// ln(1 + x), accurate near zero: the factor x / ((1 + x) - 1) corrects the rounding of 1 + x
// (Kahan).
POPRT_INLINE f32x16 vlog1p(f32x16 x) {
  const f32x16 u = x + 1.0f;
  const f32x16 d = u - 1.0f;
  const f32x16 y = vlog(u) * (x / d);
  const i32x16 plain = (d == 0.0f) | (x == __builtin_inff());
  return plain ? x : (u == 0.0f ? splat(-__builtin_inff()) : y);
}

// tanh(x) = over / under with error 3e-7: x P(x^2) / Q(x^2) up to 9, where tanh is 1 within this
// error. `under` is 1 to 417.
struct TanhParts {
  f32x16 over, under;
};

POPRT_INLINE TanhParts tanh_parts(f32x16 x) {
  const f32x16 c = clamp(x, -9.0f, 9.0f);
  const f32x16 t = c * c;
  f32x16 p = splat(1.3354055639069884e-08f);
  p = fma(p, t, splat(2.0608667909982614e-05f));
  p = fma(p, t, splat(0.003495564451441169f));
  p = fma(p, t, splat(0.13381005823612213f));
  p = fma(p, t, splat(1.0f));
  f32x16 q = splat(7.776316124363802e-07f);
  q = fma(q, t, splat(0.00032855948666110635f));
  q = fma(q, t, splat(0.02587689459323883f));
  q = fma(q, t, splat(0.4671432077884674f));
  q = fma(q, t, splat(1.0f));
  return {c * p, q};
}

POPRT_INLINE f32x16 vtanh(f32x16 x) {
  const TanhParts p = tanh_parts(x);
  const f32x16 y = clamp(p.over / p.under, -1.0f, 1.0f);
  return vabs(x) > 9.0f ? with_sign(splat(1.0f), x) : y;
}

POPRT_INLINE f32x16 vsigmoid(f32x16 x) { return 1.0f / (vexp(-x) + 1.0f); }

// erf(x), error 4e-7: x P(x^2) / Q(x^2) up to 3.9, where erf is 1 within this error.
POPRT_INLINE f32x16 verf(f32x16 x) {
  const f32x16 c = clamp(x, -3.9f, 3.9f);
  const f32x16 t = c * c;
  f32x16 p = splat(2.066471097350586e-06f);
  p = fma(p, t, splat(0.0002850627643056214f));
  p = fma(p, t, splat(0.0037383665330708027f));
  p = fma(p, t, splat(0.052668146789073944f));
  p = fma(p, t, splat(0.18966728448867798f));
  p = fma(p, t, splat(1.1283791065216064f));
  f32x16 q = splat(3.827002728939988e-05f);
  q = fma(q, t, splat(0.0011573813389986753f));
  q = fma(q, t, splat(0.014914317987859249f));
  q = fma(q, t, splat(0.11381915211677551f));
  q = fma(q, t, splat(0.5014210343360901f));
  q = fma(q, t, splat(1.0f));
  const f32x16 y = clamp(c * p / q, -1.0f, 1.0f);
  return vabs(x) > 3.9f ? with_sign(splat(1.0f), x) : y;
}

// ln(1 + e^x) for any x.
POPRT_INLINE f32x16 vsoftplus(f32x16 x) {
  const f32x16 tail = vlog1p(vexp(-vabs(x)));
  return (x > 0.0f ? x : (is_nan(x) ? x : zero())) + tail;
}

}  // namespace
}  // namespace poprt::kernels::isa
