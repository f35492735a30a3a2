// Trigonometric functions on sixteen floats. The polynomials were fitted for this file like those
// of math.h.
#pragma once

#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

inline constexpr float kHalfPi = 1.57079632679489662f, kPi = 3.14159265358979324f;

template <int kTerms>
POPRT_INLINE f32x16 polynomial(f32x16 t, const float (&c)[kTerms]) {
  f32x16 p = splat(c[0]);
  for (int i = 1; i < kTerms; i++) p = fma(p, t, splat(c[i]));
  return p;
}

POPRT_INLINE bool any(i32x16 mask) {
  int32_t bits = 0;
  for (int i = 0; i < 16; i++) bits |= mask[i];
  return bits != 0;
}

// Above this limit the reduction below loses digits.
inline constexpr float kLargestAngle = 8192.0f;

// x = n pi/2 + r, |r| <= pi/4. The first two parts of pi/2 have at most 11 bits, so that their
// products with n are exact.
struct Angle {
  i32x16 n;
  f32x16 r;
};
POPRT_INLINE Angle reduce_angle(f32x16 x) {
  const f32x16 n = vround(x * 0.636619772367581343f);
  f32x16 r = fma(n, splat(-1.5703125f), x);
  r = fma(n, splat(-0.0004837512969970703f), r);
  r = fma(n, splat(-7.549789415861596e-08f), r);
  return {to_i32(n), r};
}
POPRT_INLINE f32x16 sine_near_zero(f32x16 r) {
  const f32x16 t = r * r;
  constexpr float c[] = {-0.00019510870333760977f, 0.008332131430506706f, -0.16666653752326965f};
  return fma(polynomial(t, c) * t, r, r);
}
POPRT_INLINE f32x16 cosine_near_zero(f32x16 r) {
  const f32x16 t = r * r;
  constexpr float c[] = {2.4431239580735564e-05f, -0.0013887305976822972f, 0.04166664555668831f};
  return fma(polynomial(t, c) * t, t, fma(t, splat(-0.5f), splat(1.0f)));
}

// Requires |x| <= kLargestAngle. The error is 1.5e-7 of the larger of the result and 1e-4.
POPRT_INLINE f32x16 vsin(f32x16 x) {
  const Angle a = reduce_angle(x);
  const f32x16 y = (a.n & 1) != 0 ? cosine_near_zero(a.r) : sine_near_zero(a.r);
  return x == 0.0f ? x : from_bits(bits(y) ^ ((a.n & 2) << 30));
}
POPRT_INLINE f32x16 vcos(f32x16 x) {
  const Angle a = reduce_angle(x);
  const f32x16 y = (a.n & 1) != 0 ? sine_near_zero(a.r) : cosine_near_zero(a.r);
  return from_bits(bits(y) ^ (((a.n + 1) & 2) << 30));
}
POPRT_INLINE f32x16 vtan(f32x16 x) {
  const Angle a = reduce_angle(x);
  const f32x16 s = sine_near_zero(a.r), c = cosine_near_zero(a.r);
  return x == 0.0f ? x : ((a.n & 1) != 0 ? -c / s : s / c);
}

// The arctangent, error 2e-7.
POPRT_INLINE f32x16 vatan(f32x16 x) {
  const f32x16 m = vabs(x);
  const f32x16 a = m > 1.0f ? 1.0f / m : m;
  constexpr float c[] = {0.002849851967766881f, -0.016068479046225548f, 0.04269127547740936f,
                         -0.0750427395105362f,  0.10640924423933029f,   -0.14203642308712006f,
                         0.1999261975288391f,   -0.3333307206630707f};
  const f32x16 t = a * a;
  const f32x16 y = fma(polynomial(t, c) * t, a, a);
  return with_sign(m > 1.0f ? kHalfPi - y : y, x);
}

// The arcsine of 0 <= a <= 1/2, error 2e-7.
POPRT_INLINE f32x16 asin_small(f32x16 a) {
  constexpr float c[] = {0.042172424495220184f, 0.024175867438316345f, 0.04547112062573433f,
                         0.07495291531085968f, 0.16666752099990845f};
  const f32x16 t = a * a;
  return fma(polynomial(t, c) * t, a, a);
}
// NaN outside [-1, 1].
POPRT_INLINE f32x16 vasin(f32x16 x) {
  const f32x16 m = vabs(x);
  const i32x16 large = m > 0.5f;
  const f32x16 y = asin_small(large ? vsqrt((1.0f - m) * 0.5f) : m);
  return with_sign(large ? kHalfPi - (y + y) : y, x);
}
POPRT_INLINE f32x16 vacos(f32x16 x) {
  const f32x16 m = vabs(x);
  const i32x16 large = m > 0.5f;
  const f32x16 y = asin_small(large ? vsqrt((1.0f - m) * 0.5f) : m);
  const f32x16 twice = y + y;
  return large ? (x < 0.0f ? kPi - twice : twice) : kHalfPi - with_sign(y, x);
}

}  // namespace
}  // namespace poprt::kernels::isa
