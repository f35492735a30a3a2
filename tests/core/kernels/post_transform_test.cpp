#include "kernels/common/post_transform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace poprt::kernels {
namespace {

std::vector<double> applied(PostTransform transform, std::vector<double> scores) {
  apply_post_transform(transform, scores);
  return scores;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); i++) EXPECT_NEAR(found[i], wanted[i], 1e-12) << i;
}

TEST(PostTransform, NoneAndLogisticAreOfEachScore) {
  expect_near(applied(PostTransform::none, {-2, 0, 3}), {-2, 0, 3});
  expect_near(applied(PostTransform::logistic, {-2, 0, 3}),
              {1 / (1 + std::exp(2.0)), 0.5, 1 / (1 + std::exp(-3.0))});
}

// Compares with the normal distribution, which probit inverts, up to the error of the
// approximation.
TEST(PostTransform, ProbitInvertsTheNormalDistribution) {
  for (double x = -2.5; x <= 2.5; x += 0.125) {
    const double p = 0.5 * std::erfc(-x / std::sqrt(2.0));
    EXPECT_NEAR(probit(p), x, 2e-2) << x;
    EXPECT_EQ(applied(PostTransform::probit, {p})[0], probit(p));
  }
  EXPECT_EQ(probit(0.5), 0);
}

TEST(PostTransform, SoftmaxIsOfAllScores) {
  const std::vector<double> x = {1, 3, -2, 0};
  double sum = 0;
  for (const double v : x) sum += std::exp(v);
  std::vector<double> wanted;
  for (const double v : x) wanted.push_back(std::exp(v) / sum);
  expect_near(applied(PostTransform::softmax, x), wanted);
  expect_near(applied(PostTransform::softmax, {1000, 1000}), {0.5, 0.5});
  expect_near(applied(PostTransform::softmax, {}), {});
}

TEST(PostTransform, SoftmaxZeroLeavesZerosZero) {
  const double sum = std::exp(1.0) + std::exp(-2.0);
  expect_near(applied(PostTransform::softmax_zero, {1, 0, -2}),
              {std::exp(1.0) / sum, 0, std::exp(-2.0) / sum});
  // A value this small counts as zero, with either sign.
  const auto small = applied(PostTransform::softmax_zero, {0, 1e-7, -1e-7, 2e-7});
  EXPECT_NEAR(small[1], 1e-7, 1e-10);
  EXPECT_NEAR(small[2], -1e-7, 1e-10);
  EXPECT_NEAR(small[3], 1, 1e-10) << "the only one that is none";
}

TEST(PostTransform, ABinaryClassifierHasTwoScores) {
  const auto both = [](PostTransform transform, bool all_positive, double s) {
    double out[2];
    apply_binary_transform(transform, all_positive, s, out);
    return std::vector<double>{out[0], out[1]};
  };
  for (const bool positive : {true, false})
    expect_near(both(PostTransform::logistic, positive, 0.75),
                {1 / (1 + std::exp(0.75)), 1 / (1 + std::exp(-0.75))});
  expect_near(both(PostTransform::none, true, 0.75), {0.25, 0.75});
  expect_near(both(PostTransform::none, false, 0.75), {-0.75, 0.75});
  expect_near(both(PostTransform::softmax, true, 0.75), {0.25, 0.75});
}

}  // namespace
}  // namespace poprt::kernels
