#include "base/float_odd.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/half.h"

namespace poprt {
namespace {

// The nearest of two neighbours, the one with an even last bit if both are equally near.
template <class Half>
uint16_t nearest(double value, Half low, Half high) {
  const double down = value - static_cast<double>(to_float(low)),
               up = static_cast<double>(to_float(high)) - value;
  if (down != up) return down < up ? low.bits : high.bits;
  return (low.bits & 1) == 0 ? low.bits : high.bits;
}

// Values at, and one unit of a double around, the middle of two neighbours.
template <class Half, class To>
void check_middles(uint16_t infinity, To to) {
  for (uint32_t bits = 0; bits + 1 < infinity; bits++) {
    const Half low{static_cast<uint16_t>(bits)}, high{static_cast<uint16_t>(bits + 1)};
    const double middle =
        (static_cast<double>(to_float(low)) + static_cast<double>(to_float(high))) / 2;
    for (const double v : {std::nextafter(middle, 0.0), middle, std::nextafter(middle, 1e300)}) {
      EXPECT_EQ(to(to_float_odd(v)).bits, nearest(v, low, high)) << v;
      EXPECT_EQ(to(to_float_odd(-v)).bits, nearest(v, low, high) | 0x8000) << -v;
    }
  }
}

TEST(FloatOdd, ASecondRoundingEqualsOne) {
  check_middles<f16_t>(0x7c00, [](float v) { return to_f16(v); });
  check_middles<bf16_t>(0x7f80, [](float v) { return to_bf16(v); });
}

TEST(FloatOdd, FloatsAndSpecialValuesStay) {
  std::mt19937 random(5);
  for (int i = 0; i < 10000; i++) {
    const auto v = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(v)) continue;
    EXPECT_EQ(std::bit_cast<uint32_t>(to_float_odd(static_cast<double>(v))),
              std::bit_cast<uint32_t>(v));
  }
  EXPECT_TRUE(std::isnan(to_float_odd(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(to_float_odd(-1e300), -INFINITY);
  EXPECT_EQ(to_float_odd(1e-300), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(std::bit_cast<uint32_t>(to_float_odd(-1e-300)), 0x80000001u);
}

}  // namespace
}  // namespace poprt
