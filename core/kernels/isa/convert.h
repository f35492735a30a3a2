// Rounding floats to 16-bit storage, sixteen at a time.
#pragma once

#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

using u16x16 = uint16_t __attribute__((vector_size(32)));
typedef u16x16 u16x16u __attribute__((aligned(2), may_alias));

POPRT_INLINE u16x16 low_halves(u32x16 v) { return __builtin_convertvector(v, u16x16); }

// Rounds to nearest even; overflow becomes infinity, and a NaN becomes a quiet one.
POPRT_INLINE u16x16 to_f16_bits(f32x16 v) {
#if defined(__AVX512F__)
  return reinterpret_cast<u16x16>(_mm512_cvtps_ph(reinterpret_cast<__m512>(v), 0));
#else
  const u32x16 u = reinterpret_cast<u32x16>(v);
  const u32x16 sign = (u >> 16) & 0x8000u;
  const u32x16 m = u & 0x7fffffffu;
  // Subnormal halves: adding 1/2 makes the float adder round at 2^-24.
  const u32x16 small = reinterpret_cast<u32x16>(reinterpret_cast<f32x16>(m) + 0.5f) - 0x3f000000u;
  const u32x16 normal = (m - 0x38000000u + 0xfffu + ((m >> 13) & 1u)) >> 13;
  const u32x16 nan = 0x7e00u | ((m >> 13) & 0x3ffu);
  const u32x16 zero_bits{};
  u32x16 r = m < 0x38800000u ? small : normal;
  r = m >= 0x477ff000u ? zero_bits + 0x7c00u : r;
  r = m > 0x7f800000u ? nan : r;
  return low_halves(r | sign);
#endif
}

POPRT_INLINE u16x16 to_bf16_bits(f32x16 v) {
  const u32x16 u = reinterpret_cast<u32x16>(v);
  const u32x16 rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  const u32x16 nan = (u >> 16) | 0x40u;
  return low_halves((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

POPRT_INLINE f32x16 load_bf16(const uint16_t* p) {
  const u16x16 h = *reinterpret_cast<const u16x16u*>(p);
  return reinterpret_cast<f32x16>(__builtin_convertvector(h, u32x16) << 16);
}

POPRT_INLINE void store_u16(uint16_t* p, u16x16 v) { *reinterpret_cast<u16x16u*>(p) = v; }

}  // namespace
}  // namespace poprt::kernels::isa
