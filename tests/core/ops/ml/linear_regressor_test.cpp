#include <gtest/gtest.h>

#include "core/ops/run_node.h"

namespace poprt::ops {
namespace {

using test::NodeCase;
using test::random_floats;
using test::run_node;

NodeCase linear(std::vector<float> coefficients, const Tensor& x) {
  return {.op = "LinearRegressor",
          .attributes = {{"coefficients", std::move(coefficients)}, {"targets", int64_t{2}}},
          .inputs = {x},
          .domain = "ai.onnx.ml"};
}

TEST(LinearRegressor, SurplusCoefficientsAreNotRead) {
  const Tensor x = random_floats({3, 2});
  const auto v = x.values<float>();
  const std::vector<float> w = {1, 2, -3, 4, 50, 60, 70};
  for (const size_t coefficients : {4u, 5u, 7u}) {
    const Tensor got =
        run_node(linear({w.begin(), w.begin() + static_cast<std::ptrdiff_t>(coefficients)}, x))[0];
    for (size_t r = 0; r < 3; r++)
      for (size_t t = 0; t < 2; t++)
        EXPECT_NEAR(got.values<float>()[r * 2 + t],
                    v[r * 2] * w[t * 2] + v[r * 2 + 1] * w[t * 2 + 1], 1e-5);
  }
}

TEST(LinearRegressor, TooFewCoefficientsAreRefused) {
  EXPECT_THROW(run_node(linear({1, 2, 3}, random_floats({3, 2}))), Error);
}

}  // namespace
}  // namespace poprt::ops
