#include "compiler/quantize/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace poprt::compiler {
namespace {

TEST(Loss, HasPopRTsNames) {
  for (const char* name : {"mse", "mae", "snr", "kld", "cos_dist", "gptq"}) {
    ASSERT_TRUE(loss_named(name)) << name;
    EXPECT_EQ(loss_name(*loss_named(name)), name);
  }
  EXPECT_FALSE(loss_named("cos"));
}

TEST(Loss, OfTwoNumbersMatchesTheFormulas) {
  const std::vector<float> was = {3, -4}, is = {3, -2};
  EXPECT_DOUBLE_EQ(loss_of(Loss::mse, was, is), 2);
  EXPECT_DOUBLE_EQ(loss_of(Loss::mae, was, is), 1);
  EXPECT_DOUBLE_EQ(loss_of(Loss::snr, was, is), 4.0 / 25);
  EXPECT_NEAR(loss_of(Loss::cos_dist, was, is), 1 - 2.0 * 17 / (25 + 13), 1e-12);
  const std::vector<float> turned = {4, 3};
  EXPECT_NEAR(loss_of(Loss::cos_dist, was, turned), 1, 1e-12) << "a right angle";
  EXPECT_NEAR(loss_of(Loss::kld, was, is), (4 * std::log(4.0 / 2) - 7 + 5) / 7, 1e-12);
}

TEST(Loss, OfEqualTensorsIsZero) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(1000);
  for (float& v : values) v = normal(rng);
  for (const Loss loss : {Loss::mse, Loss::mae, Loss::snr, Loss::kld, Loss::cos_dist}) {
    EXPECT_NEAR(loss_of(loss, values, values), 0, 1e-12) << loss_name(loss);
    EXPECT_EQ(loss_of(loss, std::vector<float>(5), std::vector<float>(5)), 0) << loss_name(loss);
    std::vector<float> less = values;
    for (float& v : less) v = std::round(v * 4) / 4;
    EXPECT_GT(loss_of(loss, values, less), 1e-4) << loss_name(loss);
  }
}

// A loss that only compares proportions would be 0.
TEST(Loss, SeesThatAllMagnitudesShrink) {
  const std::vector<float> was = {3, -3, 3}, is = {1, -1, 1};
  for (const Loss loss : {Loss::mse, Loss::mae, Loss::snr, Loss::kld, Loss::cos_dist})
    EXPECT_GT(loss_of(loss, was, is), 0.3) << loss_name(loss);
}

TEST(Loss, OfValuesThatBecameZeroIsLarge) {
  const std::vector<float> was = {1, 2}, none = {0, 0};
  EXPECT_EQ(loss_of(Loss::cos_dist, was, none), 1);
  EXPECT_EQ(loss_of(Loss::snr, was, none), 1);
  EXPECT_TRUE(std::isinf(loss_of(Loss::kld, was, none)));
}

TEST(Loss, OfZerosThatBecameNonzeroIsLarge) {
  const std::vector<float> none = {0, 0}, is = {1, 2};
  EXPECT_EQ(loss_of(Loss::cos_dist, none, is), 1);
  EXPECT_TRUE(std::isinf(loss_of(Loss::snr, none, is)));
  EXPECT_EQ(loss_of(Loss::kld, none, is), 0) << "no weight was lost";
  EXPECT_EQ(loss_of(Loss::mse, none, is), 2.5);
  EXPECT_EQ(loss_of(Loss::gptq, none, is), 2.5) << "searched by mse";
  for (const Loss loss : {Loss::mse, Loss::mae, Loss::snr, Loss::kld, Loss::cos_dist})
    EXPECT_EQ(loss_of(loss, {}, {}), 0) << loss_name(loss);
}

// A share of 0 counts as 2^-40.
TEST(Loss, TreatsValuesThatBecameZeroAsTiny) {
  const std::vector<float> was = {1, 3}, is = {0, 4};
  EXPECT_NEAR(loss_of(Loss::kld, was, is),
              (std::log(1 / std::ldexp(4.0, -40)) + 3 * std::log(3.0 / 4)) / 4, 1e-9);
  EXPECT_DOUBLE_EQ(loss_of(Loss::cos_dist, std::vector<float>{1, 0}, std::vector<float>{0, 2}), 1);
  EXPECT_DOUBLE_EQ(loss_of(Loss::cos_dist, std::vector<float>{1, 0}, std::vector<float>{-2, 0}),
                   1.8);
}

TEST(Moments, OfEqualNumbersHaveNoSkewness) {
  const Moments m = moments_of(std::vector<float>{2, 2, 2});
  EXPECT_DOUBLE_EQ(m.mean, 2);
  EXPECT_EQ(m.variance, 0);
  EXPECT_EQ(m.skewness, 0);
  EXPECT_EQ(m.kurtosis, 0);
  EXPECT_EQ(moments_of({}).mean, 0);
}

TEST(Moments, MatchTheirDefinition) {
  const Moments m = moments_of(std::vector<float>{1, 2, 3, 6});
  EXPECT_DOUBLE_EQ(m.mean, 3);
  EXPECT_DOUBLE_EQ(m.variance, 3.5);
  EXPECT_NEAR(m.skewness, 4.5 / std::pow(3.5, 1.5), 1e-12);
  EXPECT_NEAR(m.kurtosis, 24.5 / 12.25 - 3, 1e-12);
}

}  // namespace
}  // namespace poprt::compiler
