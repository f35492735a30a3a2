#include "model/tensor_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"
#include "model/format.h"

namespace poprt::inspector {
namespace {

TEST(TensorStatistics, EqualPlainLoops) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(2, 5);
  std::vector<float> values(50000);
  for (float& v : values) v = normal(random);
  values[7] = 0;
  const TensorStatistics s =
      tensor_statistics(Tensor::of<float>({50, 1000}, std::span<const float>(values)));
  double sum = 0, squares = 0;
  for (const float v : values) sum += static_cast<double>(v);
  const double mean = sum / 50000;
  for (const float v : values)
    squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  EXPECT_NEAR(s.mean, mean, 1e-9);
  EXPECT_NEAR(s.deviation, std::sqrt(squares / 50000), 1e-9);
  EXPECT_EQ(s.least, static_cast<double>(*std::min_element(values.begin(), values.end())));
  EXPECT_EQ(s.most, static_cast<double>(*std::max_element(values.begin(), values.end())));
  EXPECT_EQ(s.zeros, 1u);
  EXPECT_EQ(std::accumulate(s.histogram.begin(), s.histogram.end(), uint64_t{0}), 50000u);
}

TEST(TensorStatistics, CountWhatIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const TensorStatistics s = tensor_statistics(Tensor::of<float>({5}, {nan, inf, -inf, 1, 3}));
  EXPECT_EQ(s.nans, 1u);
  EXPECT_EQ(s.infinities, 2u);
  EXPECT_EQ(s.mean, 2);
}

TEST(TensorStatistics, HugeTensorsAreSampled) {
  const TensorStatistics s = tensor_statistics(Tensor::zeros(DType::u8, {1 << 20}), 1 << 16);
  EXPECT_LT(s.examined, uint64_t{1} << 18);
  EXPECT_EQ(s.elements, uint64_t{1} << 20);
  EXPECT_EQ(s.zeros, s.examined);
}

TEST(TensorStatistics, SubByteElementsAndRangesOfThem) {
  Tensor t = Tensor::zeros(DType::u4, {5});
  auto* bytes = static_cast<uint8_t*>(t.mutable_data());
  bytes[0] = 0x21, bytes[1] = 0x43, bytes[2] = 0x05;
  EXPECT_EQ(tensor_values(t, 1, 3), (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(element_text(t, 4), "5");
  EXPECT_EQ(element_text(Tensor::scalar<int64_t>(INT64_MAX), 0), "9223372036854775807");
}

TEST(TensorStatistics, EmptyTensors) {
  const TensorStatistics s = tensor_statistics(Tensor::zeros(DType::f32, {0, 3}));
  EXPECT_EQ(s.elements, 0u);
  EXPECT_EQ(s.examined, 0u);
}

TEST(Format, IsShortAndPrintable) {
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(duration_text(1.5e6), "1.50 ms");
  EXPECT_EQ(dimensions_text(std::vector<int64_t>{1, -1, 3}), "1×?×3");
  EXPECT_EQ(printable("a\n\xff"
                      "b"),
            "a\\x0a\\xffb");
  EXPECT_EQ(printable("é"), "é");
  EXPECT_EQ(shortened("abcdefghij", 7), "abc…hij");
}

}  // namespace
}  // namespace poprt::inspector
