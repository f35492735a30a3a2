#include "base/chip_rounding.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "base/quarter.h"

namespace poprt {
namespace {

constexpr float kMostHalf = 65504;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr uint8_t kNaNQuarter = 0x80, kMostQuarter = 0x7f;

}  // namespace

// The n-th number of SplitMix64, which is a function of the seed and n only.
double ChipRounding::next() {
  uint64_t z = *seed_ + ++drawn_ * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<double>(z >> 32) * 0x1p-32;
}

// Both neighbours of a number are multiples of the step of its binade: `lower` and `lower` + 1
// steps, even if the upper one is the first number of the next binade.
float ChipRounding::half_by_chance(float x) {
  const double magnitude = std::fabs(static_cast<double>(x));
  const int exponent = magnitude < 0x1p-14 ? -24 : std::ilogb(magnitude) - 10;
  const double steps = std::ldexp(magnitude, -exponent), lower = std::floor(steps);
  if (steps == lower) return x;
  const double rounded = std::ldexp(lower + (next() < steps - lower ? 1 : 0), exponent);
  return std::copysign(static_cast<float>(rounded), x);
}

float ChipRounding::half(float x) {
  if (!std::isfinite(x)) return kNaN;
  const float y = seed_ ? half_by_chance(x) : to_float(to_f16(x));
  if (std::fabs(y) <= kMostHalf) return y;
  return saturate_ ? std::copysign(kMostHalf, x) : kNaN;
}

uint8_t ChipRounding::quarter(float x, DType dtype, int scale) {
  const float value = std::ldexp(half(x), -scale);
  if (!std::isfinite(value)) return kNaNQuarter;
  if (!seed_) return float_to_quarter(dtype, value, saturate_);
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
  const double magnitude = std::fabs(static_cast<double>(value));
  uint8_t lower = float_to_quarter(dtype, static_cast<float>(magnitude), true);
  if (quarter_to_float(dtype, lower) > magnitude) lower--;
  const double low = quarter_to_float(dtype, lower);
  const double step = lower < kMostQuarter
                          ? quarter_to_float(dtype, static_cast<uint8_t>(lower + 1)) - low
                          : low - quarter_to_float(dtype, static_cast<uint8_t>(lower - 1));
  const bool up = magnitude > low && next() < (magnitude - low) / step;
  if (up && lower == kMostQuarter && !saturate_) return kNaNQuarter;
  const auto code = static_cast<uint8_t>(lower + (up && lower < kMostQuarter ? 1 : 0));
  return code == 0 ? code : static_cast<uint8_t>(code | sign);
}

}  // namespace poprt
