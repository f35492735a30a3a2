#include "common/random_inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

namespace poprt::cli {
namespace {

template <class T>
std::vector<T> filled(poprt_dtype dtype, size_t count, uint64_t seed = 1) {
  std::vector<T> values(count + 1);
  const T mark = static_cast<T>(77);
  values.back() = mark;
  fill_random(dtype, reinterpret_cast<std::byte*>(values.data()), count * sizeof(T), seed);
  EXPECT_EQ(values.back(), mark) << "behind the end";
  values.pop_back();
  return values;
}

TEST(RandomInputs, FloatsAreNormal) {
  const auto check = [](const auto& values) {
    double sum = 0, squares = 0;
    for (const auto v : values) {
      sum += static_cast<double>(v);
      squares += static_cast<double>(v) * static_cast<double>(v);
    }
    EXPECT_NEAR(sum / 10000, 0, 0.05);
    EXPECT_NEAR(squares / 10000, 1, 0.05);
  };
  check(filled<float>(POPRT_DTYPE_F32, 10000));
  check(filled<double>(POPRT_DTYPE_F64, 10000));
}

TEST(RandomInputs, ASeedGivesTheSameAgain) {
  EXPECT_EQ(filled<float>(POPRT_DTYPE_F32, 9, 3), filled<float>(POPRT_DTYPE_F32, 9, 3));
  EXPECT_NE(filled<float>(POPRT_DTYPE_F32, 9, 3), filled<float>(POPRT_DTYPE_F32, 9, 4));
}

TEST(RandomInputs, HalvesAreOfOneSize) {
  std::set<int> signs;
  uint16_t least = 0xffff, most = 0;
  for (const uint16_t bits : filled<uint16_t>(POPRT_DTYPE_F16, 20000)) {
    signs.insert(bits >> 15);
    least = std::min<uint16_t>(least, bits & 0x7fff);
    most = std::max<uint16_t>(most, bits & 0x7fff);
  }
  EXPECT_EQ(signs.size(), 2U);
  EXPECT_EQ(least, 0x3000);  // 0.125
  EXPECT_EQ(most, 0x3bff);   // the last below 1
  signs.clear();
  least = 0xffff;
  most = 0;
  for (const uint16_t bits : filled<uint16_t>(POPRT_DTYPE_BF16, 20000)) {
    signs.insert(bits >> 15);
    least = std::min<uint16_t>(least, bits & 0x7fff);
    most = std::max<uint16_t>(most, bits & 0x7fff);
  }
  EXPECT_EQ(signs.size(), 2U);
  EXPECT_EQ(least, 0x3e80);  // 0.25
  EXPECT_EQ(most, 0x3f7f);   // the last below 1
}

TEST(RandomInputs, IntegersAreZeroOrOne) {
  const auto check = [](const auto& values) {
    std::set<int64_t> found(values.begin(), values.end());
    EXPECT_EQ(found, (std::set<int64_t>{0, 1}));
  };
  check(filled<int64_t>(POPRT_DTYPE_S64, 64));
  check(filled<int32_t>(POPRT_DTYPE_S32, 64));
  check(filled<uint16_t>(POPRT_DTYPE_U16, 64));
  check(filled<uint8_t>(POPRT_DTYPE_BOOL, 64));
  // Types of less than a byte, and text, have no elements that could be written.
  EXPECT_EQ(filled<uint8_t>(POPRT_DTYPE_S4, 4), std::vector<uint8_t>(4));
  EXPECT_EQ(filled<uint8_t>(POPRT_DTYPE_STRING, 4), std::vector<uint8_t>(4));
}

TEST(RandomInputs, RowsAreTheSmallestFirstDimension) {
  EXPECT_EQ(rows_of({{4, 2}, {3}, {}, {6, 2}}), 3);
  EXPECT_EQ(rows_of({{}, {4, 2}}), 4);
  EXPECT_EQ(rows_of({{}}), 1);
  EXPECT_EQ(rows_of({}), 1);
}

}  // namespace
}  // namespace poprt::cli
