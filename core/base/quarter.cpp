#include "base/quarter.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace poprt {
namespace {

// The bit layout of a small float. Codes above `max_code`, without the sign bit, are infinity or
// NaN, depending on the format. The *fnuz formats and those of the IPU have one NaN, the code of
// negative zero.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  uint8_t max_code;   // largest finite magnitude
  bool has_infinity;  // the code after max_code is infinity
  bool nan_is_minus_zero;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3fn: return {4, 3, 7, 0x7e, false, false};
    case DType::f8e4m3fnuz: return {4, 3, 8, 0x7f, false, true};
    case DType::f8e5m2: return {5, 2, 15, 0x7b, true, false};
    case DType::f8e5m2fnuz: return {5, 2, 16, 0x7f, false, true};
    case DType::f8_143: return {4, 3, 8, 0x7f, false, true};
    case DType::f8_152: return {5, 2, 16, 0x7f, false, true};
    case DType::f4e2m1: return {2, 1, 1, 0x7, false, false};
    default: fail(ErrorCode::internal, "{} is no 8-bit or 4-bit float", dtype_name(dtype));
  }
}

float magnitude_of(const Format& f, unsigned code) {
  const unsigned mantissa = code & ((1u << f.mantissa_bits) - 1);
  const auto exponent = static_cast<int>(code >> f.mantissa_bits);
  if (exponent == 0) return std::ldexp(static_cast<float>(mantissa), 1 - f.bias - f.mantissa_bits);
  return std::ldexp(static_cast<float>(mantissa + (1u << f.mantissa_bits)),
                    exponent - f.bias - f.mantissa_bits);
}

constexpr uint8_t kNanE8M0 = 255;

}  // namespace

float quarter_to_float(DType dtype, uint8_t code) {
  if (dtype == DType::f8e8m0)
    return code == kNanE8M0 ? std::numeric_limits<float>::quiet_NaN()
                            : std::ldexp(1.0f, code - 127);
  const Format f = format_of(dtype);
  const int bits = f.exponent_bits + f.mantissa_bits;
  const unsigned magnitude = code & ((1u << bits) - 1);
  const bool negative = (code >> bits) & 1;
  if (f.nan_is_minus_zero && negative && magnitude == 0)
    return std::numeric_limits<float>::quiet_NaN();
  if (magnitude > f.max_code) {
    if (f.has_infinity && magnitude == f.max_code + 1u)
      return negative ? -std::numeric_limits<float>::infinity()
                      : std::numeric_limits<float>::infinity();
    return std::numeric_limits<float>::quiet_NaN();
  }
  const float v = magnitude_of(f, magnitude);
  return negative ? -v : v;
}

// Works on the bits, because compute threads flush denormal numbers and 2^-127 is one.
uint8_t float_to_e8m0(float value, PowerRounding rounding, bool saturate) {
  constexpr uint32_t kNormal = 1u << 23, kLeast = kNormal / 2, kMost = 254 * kNormal;
  const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  if (magnitude > 255 * kNormal) return kNanE8M0;
  if (magnitude < kLeast) return saturate ? 0 : kNanE8M0;
  if (magnitude > kMost) return saturate ? 254 : kNanE8M0;
  const uint32_t step = magnitude < kNormal ? kLeast : kNormal;
  const uint32_t above = magnitude % step;  // distance from the next lower power of two
  const bool more = rounding == PowerRounding::up        ? above > 0
                    : rounding == PowerRounding::nearest ? above >= step / 2
                                                         : false;
  return static_cast<uint8_t>(magnitude / kNormal + more);
}

uint8_t float_to_quarter(DType dtype, float value, bool saturate) {
  if (dtype == DType::f8e8m0) return float_to_e8m0(value, PowerRounding::up, saturate);
  const Format f = format_of(dtype);
  const int bits = f.exponent_bits + f.mantissa_bits;
  const unsigned sign = std::signbit(value) ? 1u << bits : 0;
  const bool has_nan = dtype != DType::f4e2m1;
  const auto nan =
      static_cast<uint8_t>(f.nan_is_minus_zero ? 1u << bits : sign | ((1u << bits) - 1));
  if (std::isnan(value)) return has_nan ? nan : 0;
  const float a = std::fabs(value);
  // Finds the nearest code by bisection, because the positive codes are monotonic. Ties go to the
  // even code.
  unsigned lo = 0, hi = f.max_code;
  while (lo < hi) {
    const unsigned mid = (lo + hi + 1) / 2;
    if (magnitude_of(f, mid) <= a)
      lo = mid;
    else
      hi = mid - 1;
  }
  unsigned code = lo;
  if (lo < f.max_code) {
    const double down = static_cast<double>(a) - magnitude_of(f, lo);
    const double up = static_cast<double>(magnitude_of(f, lo + 1)) - a;
    if (up < down || (up == down && (lo & 1))) code = lo + 1;
  } else {
    const double step = static_cast<double>(magnitude_of(f, lo)) - magnitude_of(f, lo - 1);
    const double over = static_cast<double>(a) - magnitude_of(f, lo);
    const bool overflows = over > step / 2 || (over == step / 2 && (lo & 1));
    if (overflows && !saturate && has_nan)
      return f.has_infinity ? static_cast<uint8_t>(sign | (f.max_code + 1u)) : nan;
  }
  if (code == 0 && f.nan_is_minus_zero) return 0;
  return static_cast<uint8_t>(sign | code);
}

namespace {

// Returns the same as float_to_quarter with saturation, but without a search. It works on the bits:
// a normal number keeps the upper part of its mantissa, and its exponent changes by the difference
// of the biases. Smaller numbers are multiples of the smallest one; adding a number whose last bit
// has that weight rounds them.
uint8_t encode(float value, uint32_t mantissa_bits, uint32_t bias) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x80;
  const uint32_t drop = 23 - mantissa_bits;
  const uint32_t shifter = (127 + 23 + 1 - bias - mantissa_bits) << 23;
  const uint32_t normal =
      ((magnitude + ((1u << (drop - 1)) - 1) + (magnitude >> drop & 1u)) >> drop) -
      ((127 - bias) << mantissa_bits);
  const uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(shifter)) -
      shifter;
  uint32_t code = magnitude < (127 + 1 - bias) << 23 ? small : normal;
  if (code > 0x7f) code = 0x7f;
  return static_cast<uint8_t>(code == 0 ? 0 : code | (bits >> 24 & 0x80u));
}

}  // namespace

QuarterRounding::QuarterRounding(DType dtype, int scale)
    : factor_(std::ldexp(1.0f, -scale)),
      mantissa_bits_(static_cast<uint32_t>(format_of(dtype).mantissa_bits)),
      bias_(static_cast<uint32_t>(format_of(dtype).bias)),
      values_() {
  for (size_t code = 0; code < values_.size(); code++)
    values_[code] = std::ldexp(quarter_to_float(dtype, static_cast<uint8_t>(code)), scale);
}

uint8_t QuarterRounding::encode(float value) const {
  return poprt::encode(value * factor_, mantissa_bits_, bias_);
}

void encode_quarters(DType dtype, int scale, std::span<const float> values,
                     std::span<uint8_t> codes) {
  POPRT_ASSERT(values.size() == codes.size());
  const QuarterRounding format(dtype, scale);
  for (size_t i = 0; i < values.size(); i++) codes[i] = format.encode(values[i]);
}

void decode_quarters(DType dtype, int scale, std::span<const uint8_t> codes,
                     std::span<float> values) {
  POPRT_ASSERT(values.size() == codes.size());
  const QuarterRounding format(dtype, scale);
  for (size_t i = 0; i < codes.size(); i++) values[i] = format.decode(codes[i]);
}

}  // namespace poprt
