#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace poprt {
namespace {

// The value of a binary16 code from its definition.
double value_of_f16(unsigned bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  if (exponent == 31) return mantissa ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(F16, EveryCodeHasItsDefinedValue) {
  for (unsigned bits = 0; bits < 65536; bits++) {
    const float got = to_float(f16_t{static_cast<uint16_t>(bits)});
    const double expected = value_of_f16(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
    } else {
      ASSERT_EQ(got, expected) << bits;
      ASSERT_EQ(std::signbit(got), (bits & 0x8000) != 0) << bits;
    }
  }
}

TEST(F16, EveryCodeRoundTrips) {
  for (unsigned bits = 0; bits < 65536; bits++) {
    const float value = to_float(f16_t{static_cast<uint16_t>(bits)});
    const unsigned back = to_f16(value).bits;
    if (std::isnan(value))
      ASSERT_TRUE((back & 0x7c00) == 0x7c00 && (back & 0x3ff) && (back & 0x8000) == (bits & 0x8000))
          << bits;
    else
      ASSERT_EQ(back, bits);
  }
}

// Between two neighbours, a value below the middle is rounded down, a value above it up, and the
// middle to even.
TEST(F16, RoundsToNearestEvenBetweenAllNeighbours) {
  for (unsigned bits = 0; bits < 0x7bff; bits++) {
    const double low = value_of_f16(bits), high = value_of_f16(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);  // exact: one more bit
    ASSERT_EQ(to_f16(middle).bits, bits + (bits & 1)) << bits;
    ASSERT_EQ(to_f16(std::nextafter(middle, 0.0f)).bits, bits);
    ASSERT_EQ(to_f16(std::nextafter(middle, 1e9f)).bits, bits + 1);
    ASSERT_EQ(to_f16(-middle).bits, 0x8000 | (bits + (bits & 1)));
  }
}

TEST(F16, OverflowsToInfinity) {
  EXPECT_EQ(to_f16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_f16(65519.99f).bits, 0x7bff);
  EXPECT_EQ(to_f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_f16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(to_f16(std::numeric_limits<float>::infinity()).bits, 0x7c00);
}

TEST(BF16, EveryCodeRoundTrips) {
  for (unsigned bits = 0; bits < 65536; bits++) {
    const float value = to_float(bf16_t{static_cast<uint16_t>(bits)});
    const unsigned back = to_bf16(value).bits;
    if (std::isnan(value))
      ASSERT_TRUE((back & 0x7f80) == 0x7f80 && (back & 0x7f)) << bits;
    else
      ASSERT_EQ(back, bits);
  }
}

TEST(BF16, RoundsToNearestEven) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; i++) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    const uint32_t down = std::bit_cast<uint32_t>(value) & 0xffff0000u;
    const double low = std::bit_cast<float>(down);
    // The code after `down` may be infinity; as a number it is twice the largest power of two.
    const float next = std::bit_cast<float>(down + 0x10000u);
    const double high =
        std::isfinite(next) ? static_cast<double>(next) : std::copysign(std::ldexp(1.0, 128), low);
    const double to_low = std::fabs(value - low), to_high = std::fabs(high - value);
    const bool up = to_high < to_low || (to_high == to_low && (down & 0x10000u));
    ASSERT_EQ(to_bf16(value).bits, (down + (up ? 0x10000u : 0)) >> 16) << value;
  }
}

}  // namespace
}  // namespace poprt
