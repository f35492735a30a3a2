#include "kernels/isa/quarters.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

typedef uint8_t u8x16 __attribute__((vector_size(16)));
typedef u8x16 u8x16u __attribute__((aligned(1), may_alias));

POPRT_INLINE u32x16 choose(i32x16 mask, u32x16 a, u32x16 b) { return mask ? a : b; }
POPRT_INLINE u32x16 all(uint32_t v) { return u32x16{} + v; }

POPRT_INLINE u8x16 round_lanes(const QuarterFormat& f, f32x16 x) {
  const u32x16 bits = reinterpret_cast<u32x16>(x), magnitude = bits & 0x7fffffffu;
  const i32x16 negative = reinterpret_cast<i32x16>(bits) < 0;
  const auto m = static_cast<uint32_t>(f.mantissa_bits), bias = static_cast<uint32_t>(f.bias);
  // Normal numbers keep m bits of the mantissa; the exponents differ by their biases.
  const uint32_t drop = 23 - m;
  const u32x16 normal =
      ((magnitude + ((1u << (drop - 1)) - 1) + ((magnitude >> drop) & 1u)) >> drop) -
      ((127 - bias) << m);
  // Smaller numbers are integer multiples of the smallest one: adding a number with that unit in
  // its last bit rounds them.
  const uint32_t shifter = (127 + 23 + 1 - bias - m) << 23;
  const u32x16 small = reinterpret_cast<u32x16>(reinterpret_cast<f32x16>(magnitude) +
                                                reinterpret_cast<f32x16>(all(shifter))) -
                       shifter;
  u32x16 code = choose(magnitude < ((127 + 1 - bias) << 23), small, normal);
  const i32x16 sign_shows = negative & (f.minus_zero ? isplat(-1) : (code != 0u));
  const u32x16 signed_code = choose(sign_shows, code | 0x80u, code);
  const i32x16 overflows = code > f.most;
  code = choose(overflows, choose(negative, all(f.overflow_low), all(f.overflow)), signed_code);
  code = choose(magnitude > 0x7f800000u, choose(negative, all(f.nan_low), all(f.nan)), code);
  return __builtin_convertvector(code, u8x16);
}

void round(const QuarterFormat& format, const float* x, uint8_t* y, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) *reinterpret_cast<u8x16u*>(y + i) = round_lanes(format, load(x + i));
  if (i == n) return;
  const u8x16 last = round_lanes(format, load_first(x + i, n - i));
  for (int64_t l = 0; i + l < n; l++) y[i + l] = last[l];
}

}  // namespace

extern const QuarterTable POPRT_ISA_NAME(quarters);
const QuarterTable POPRT_ISA_NAME(quarters) = {round};

}  // namespace poprt::kernels::isa
