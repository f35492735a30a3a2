#include "compiler/quantize/range_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace poprt::compiler {
namespace {

RecordedValues recorded(const std::vector<float>& values) {
  RecordedValues r;
  r.add(values, 0, 1);
  return r;
}

// Normal values, and a few that are 20 times as large.
std::vector<float> with_outliers(uint32_t seed, size_t count) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.5f, 1);
  std::vector<float> values(count);
  for (float& v : values) v = normal(rng);
  for (size_t i = 0; i < count; i += 5000) values[i] = i % 10000 ? 20.0f : -15.0f;
  return values;
}

// The definition: the nearest of 256 numbers at equal distances, of which one is 0.
TEST(RangeSearch, AFormatSpansItsRangeAndContainsZero) {
  for (const auto& [least, most] :
       {std::pair(-1.0f, 3.0f), std::pair(0.0f, 5.0f), std::pair(-2.0f, 0.0f),
        std::pair(0.5f, 2.0f), std::pair(-4.0f, -1.0f), std::pair(0.0f, 0.0f)}) {
    const passes::ByteFormat f = byte_format(least, most);
    const float low = static_cast<float>(-f.zero) * f.scale,
                high = static_cast<float>(255 - f.zero) * f.scale;
    EXPECT_LE(low, std::min(0.0f, least) + f.scale / 2);
    EXPECT_GE(high, std::max(0.0f, most) - f.scale / 2);
    if (least < most)
      EXPECT_NEAR(f.scale * 255, std::max(0.0f, most) - std::min(0.0f, least), 1e-5);
    std::vector<float> values;
    for (int i = -20; i < 60; i++) values.push_back(0.11f * static_cast<float>(i));
    const std::vector<float> is = rounded(values, f);
    for (size_t i = 0; i < values.size(); i++) {
      double nearest = INFINITY;
      for (int b = 0; b < 256; b++) {
        const double number = static_cast<double>(b - f.zero) * static_cast<double>(f.scale);
        const double v = static_cast<double>(values[i]);
        if (std::fabs(v - number) < std::fabs(v - nearest)) nearest = number;
      }
      const double v = static_cast<double>(values[i]);
      EXPECT_NEAR(std::fabs(v - static_cast<double>(is[i])), std::fabs(v - nearest), 1e-5);
    }
    EXPECT_EQ(rounded(std::vector{0.0f}, f)[0], 0);
  }
}

TEST(RangeSearch, MinmaxIsTheWholeRangeAndPercentileLeavesOutTheEnds) {
  const std::vector<float> values = with_outliers(3, 50000);
  const RangeSearch all = search_range(recorded(values), Loss::minmax, 0);
  ASSERT_EQ(all.trials.size(), 1u);
  EXPECT_EQ(all.chosen().least, -15);
  EXPECT_EQ(all.chosen().most, 20);
  std::vector<float> sorted = values;
  std::ranges::sort(sorted);
  for (const double percent : {99.0, 99.9, 100.0}) {
    const RangeTrial trial = search_range(recorded(values), Loss::percentile, percent).chosen();
    const auto outside = std::ranges::count_if(values, [&](float v) { return v > trial.most; });
    EXPECT_NEAR(static_cast<double>(outside), (100 - percent) / 100 * 50000, 2);
    const auto below = std::ranges::count_if(values, [&](float v) { return v < trial.least; });
    EXPECT_NEAR(static_cast<double>(below), (100 - percent) / 100 * 50000, 2);
  }
}

TEST(RangeSearch, ALossFindsTheBestOfItsRanges) {
  const std::vector<float> values = with_outliers(5, 20000);
  for (const Loss loss : {Loss::mse, Loss::mae, Loss::snr, Loss::kld, Loss::cos_dist}) {
    const RangeSearch search = search_range(recorded(values), loss, 0);
    ASSERT_EQ(search.trials.size(), 25u);
    double best = INFINITY;
    for (double part = 1; part > 0.29; part *= 0.95) {
      const auto ratio = static_cast<float>(part);
      const passes::ByteFormat f = byte_format(-15 * ratio, 20 * ratio);
      best = std::min(best, loss_of(loss, values, rounded(values, f)));
    }
    EXPECT_NEAR(search.chosen().loss, best, 1e-12) << loss_name(loss);
  }
}

// Signs, and numbers that are almost equal: no loss chooses a range that cuts all of them off.
TEST(RangeSearch, KeepsMagnitudesThatAreAlmostEqual) {
  std::mt19937 rng(6);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> signs(500), pooled(500);
  for (float& v : signs) v = std::copysign(0.4f, normal(rng));
  for (float& v : pooled) v = 3 + normal(rng);
  for (const Loss loss :
       {Loss::mse, Loss::mae, Loss::snr, Loss::kld, Loss::cos_dist, Loss::entropy})
    for (const auto& values : {signs, pooled}) {
      const auto is = rounded(values, search_range(recorded(values), loss, 0).chosen().format);
      EXPECT_LT(loss_of(Loss::snr, values, is), 1e-4) << loss_name(loss) << " " << values[0];
    }
}

// Few outliers are not worth the resolution of all other values; values that fill their range are.
TEST(RangeSearch, EntropyAndErrorLeaveOutOutliersOnly) {
  std::mt19937 rng(4);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> even(40000), laplace(40000);
  for (float& v : even) v = uniform(rng);
  for (float& v : laplace) {
    const float u = uniform(rng);
    v = std::copysign(-std::log(1 - std::fabs(u) + 1e-7f), u);
  }
  for (const Loss loss : {Loss::entropy, Loss::mse}) {
    EXPECT_GT(search_range(recorded(even), loss, 0).chosen().most, 0.94f) << loss_name(loss);
    const RangeTrial cut = search_range(recorded(laplace), loss, 0).chosen();
    EXPECT_LT(cut.most, 0.95f * *std::ranges::max_element(laplace)) << loss_name(loss);
    EXPECT_GT(cut.most, 3) << loss_name(loss);
  }
}

TEST(RangeSearch, RecordsAPartOfManyValuesAndTheExactRange) {
  constexpr size_t kMany = size_t{1} << 18;
  std::vector<float> values(kMany, 0.5f);
  values[1] = 9, values[3] = -7, values[4] = NAN, values[5] = INFINITY;
  RecordedValues r;
  for (int64_t run = 0; run < 4; run++) r.add(values, run, 4);
  EXPECT_EQ(r.least, -7);
  EXPECT_EQ(r.most, 9);
  EXPECT_LE(r.sample.size(), kMany);
  EXPECT_GT(r.sample.size(), kMany - 10);
  for (const float v : r.sample) EXPECT_TRUE(std::isfinite(v));
}

TEST(RangeSearch, NoValuesAndZerosHaveTheDefaultRange) {
  for (const Loss loss : {Loss::minmax, Loss::percentile, Loss::entropy, Loss::mse}) {
    EXPECT_EQ(search_range({}, loss, 99).chosen().format, passes::ByteFormat());
    EXPECT_EQ(search_range(recorded({0, 0, 0}), loss, 99).chosen().format, passes::ByteFormat());
  }
}

}  // namespace
}  // namespace poprt::compiler
