// Converts blocks of numbers of every type to floats and back, and compares them with conversions
// of single numbers. Blocks have any place and length, and memory around them does not change.
#include "kernels/common/convert_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/half.h"
#include "base/quarter.h"

namespace poprt::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// The least and the greatest number of an integer type to which floats are converted.
struct Range {
  DType type;
  double low, high;
};
constexpr Range kIntegers[] = {
    {DType::s8, -128, 127}, {DType::u8, 0, 255}, {DType::s16, -32768, 32767},
    {DType::u16, 0, 65535}, {DType::u4, 0, 15},  {DType::s4, -8, 7},
    {DType::u2, 0, 3},      {DType::s2, -2, 1},  {DType::s32, -2147483648.0, 2147483647.0}};

// Values around every bound, half way between whole numbers, and NaN.
std::vector<float> numbers(const Range& r) {
  std::vector<float> v = {0, -0.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, kNan, kInf, -kInf, 1e30f};
  for (const double bound : {r.low, r.high})
    for (const double d : {-2.0, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 300.0})
      v.push_back(static_cast<float>(bound + d));
  return v;
}

double whole(double v, const Range& r) {
  return std::isnan(v) ? 0 : std::clamp(std::nearbyint(v), r.low, r.high);
}

TEST(ConvertBlock, FloatsBecomeIntegersAtAnyPlace) {
  for (const Range& r : kIntegers) {
    const std::vector<float> x = numbers(r);
    for (int64_t first = 0; first < 5; first++)
      for (int64_t n = 0; n <= static_cast<int64_t>(x.size()); n++) {
        const int64_t all = static_cast<int64_t>(x.size()) + 8;
        std::vector<uint8_t> bytes(static_cast<size_t>(all) * 4, 0);
        const std::vector<float> before(static_cast<size_t>(all), 1);
        std::vector<float> after(static_cast<size_t>(all));
        from_floats(r.type, bytes.data(), 0, all, before.data(), true);
        from_floats(r.type, bytes.data(), first, n, x.data(), true);
        to_floats(r.type, bytes.data(), 0, all, after.data());
        for (int64_t i = 0; i < all; i++) {
          const bool inside = i >= first && i < first + n;
          const double want =
              inside ? whole(static_cast<double>(x[static_cast<size_t>(i - first)]), r) : 1;
          ASSERT_EQ(after[static_cast<size_t>(i)], static_cast<float>(want))
              << dtype_name(r.type) << " at " << first << ", " << i << " of " << n;
        }
      }
  }
}

// Compares all bits of s32, which have more than a float.
TEST(ConvertBlock, SaturatesWideIntegersToTheLastBit) {
  const float x[] = {kInf, -kInf, 0x1p31f, -0x1p31f, 0x1.fffffep30f, -0x1.fffffep30f, kNan};
  const int32_t want[] = {2147483647, -2147483647 - 1, 2147483647, -2147483647 - 1,
                          2147483520, -2147483520,     0};
  int32_t y[7];
  from_floats(DType::s32, y, 0, 7, x, true);
  for (size_t i = 0; i < 7; i++) EXPECT_EQ(y[i], want[i]) << x[i];
}

template <class T>
void expect_widens(DType type, std::initializer_list<T> values) {
  const std::vector<T> x(values);
  const auto count = static_cast<int64_t>(x.size());
  for (int64_t first = 0; first < count; first++) {
    std::vector<float> y(x.size() - static_cast<size_t>(first) + 1, 77);
    to_floats(type, x.data(), first, count - first, y.data());
    for (size_t i = 0; i + 1 < y.size(); i++)
      EXPECT_EQ(y[i], static_cast<float>(x[i + static_cast<size_t>(first)])) << dtype_name(type);
    EXPECT_EQ(y.back(), 77) << dtype_name(type);
  }
}

TEST(ConvertBlock, EveryTypeWidens) {
  expect_widens<float>(DType::f32, {1.5f, -2, 3e30f});
  expect_widens<double>(DType::f64, {1.5, -2, 1e-3});
  expect_widens<int8_t>(DType::s8, {-128, -1, 127});
  expect_widens<uint8_t>(DType::u8, {0, 128, 255});
  expect_widens<int16_t>(DType::s16, {-32768, -1, 32767});
  expect_widens<uint16_t>(DType::u16, {0, 32768, 65535});
  expect_widens<int32_t>(DType::s32, {-2147483647 - 1, -1, 2147483647});
  expect_widens<uint32_t>(DType::u32, {0, 1u << 31, 0xffffffff});
  expect_widens<int64_t>(DType::s64, {-5, int64_t{1} << 40, 7});
  expect_widens<uint64_t>(DType::u64, {5, uint64_t{1} << 63, 7});
}

// Halves, doubles and 8-bit floats are equal to conversions of single numbers.
TEST(ConvertBlock, FloatsBecomeFloatsAtAnyPlace) {
  std::mt19937 rng(1);
  std::vector<float> x;
  for (int i = 0; i < 37; i++) x.push_back(std::ldexp(static_cast<float>(rng() % 999) - 499, -8));
  const auto n = static_cast<int64_t>(x.size());
  for (const int64_t first : {0, 1, 3}) {
    const auto end = static_cast<size_t>(first + n);
    const auto at = [&](size_t i) { return x[i - static_cast<size_t>(first)]; };
    std::vector<f16_t> half(end + 1, f16_t{77});
    std::vector<bf16_t> brain(end + 1, bf16_t{77});
    std::vector<double> wide(end + 1, 77);
    std::vector<float> same(end + 1, 77);
    from_floats(DType::f16, half.data(), first, n, x.data(), false);
    from_floats(DType::bf16, brain.data(), first, n, x.data(), false);
    from_floats(DType::f64, wide.data(), first, n, x.data(), false);
    from_floats(DType::f32, same.data(), first, n, x.data(), false);
    for (size_t i = static_cast<size_t>(first); i < end; i++) {
      ASSERT_EQ(half[i].bits, to_f16(at(i)).bits) << i;
      ASSERT_EQ(brain[i].bits, to_bf16(at(i)).bits) << i;
      ASSERT_EQ(wide[i], static_cast<double>(at(i))) << i;
      ASSERT_EQ(same[i], at(i)) << i;
    }
    EXPECT_EQ(half[end].bits, 77);
    EXPECT_EQ(brain[end].bits, 77);
    EXPECT_EQ(wide[end], 77);
    EXPECT_EQ(same[end], 77);
    for (const DType t : {DType::f8e4m3fn, DType::f8e5m2, DType::f8e8m0, DType::f4e2m1}) {
      std::vector<uint8_t> codes(end + 1, 0);
      std::vector<float> back(static_cast<size_t>(n));
      from_floats(t, codes.data(), first, n, x.data(), true);
      to_floats(t, codes.data(), first, n, back.data());
      for (size_t i = 0; i < x.size(); i++) {
        const float want = quarter_to_float(t, float_to_quarter(t, x[i], true));
        ASSERT_TRUE(back[i] == want || (std::isnan(back[i]) && std::isnan(want)))
            << dtype_name(t) << " " << x[i];
      }
      EXPECT_EQ(codes[end], 0) << dtype_name(t);
    }
  }
}

TEST(ConvertBlock, TextComplexNumbersAndBooleansAreNoNumbers) {
  for (const DType t : {DType::undefined, DType::string, DType::c64, DType::c128, DType::boolean})
    EXPECT_FALSE(is_convertible(t)) << dtype_name(t);
  for (const DType t : {DType::f32, DType::f16, DType::s4, DType::u2, DType::f8e8m0, DType::u64})
    EXPECT_TRUE(is_convertible(t)) << dtype_name(t);
}

}  // namespace
}  // namespace poprt::kernels
