#include <gtest/gtest.h>

#include "core/ops/run_node.h"

namespace poprt::ops {
namespace {

using test::NodeCase;
using test::random_floats;

std::vector<float> numbers(size_t count) {
  std::vector<float> v(count);
  for (size_t i = 0; i < count; i++) v[i] = static_cast<float>(i) * 0.5f - 1;
  return v;
}

NodeCase linear(size_t coefficients, const Tensor& x) {
  return {.op = "LinearClassifier",
          .attributes = {{"coefficients", numbers(coefficients)},
                         {"intercepts", std::vector<float>{1, -2}},
                         {"classlabels_ints", std::vector<int64_t>{10, 20}}},
          .inputs = {x},
          .outputs = 2,
          .domain = "ai.onnx.ml"};
}

std::vector<Tensor> evaluated(const NodeCase& c) {
  const auto g = test::build_node(c);
  for (ir::Value* v : g->node->outputs())
    g->graph.add_output(v);  // only outputs that are read are computed
  infer(*g->node);
  return evaluate(*g->node, c.inputs);
}

TEST(LinearClassifier, SurplusCoefficientsAreNotRead) {
  const Tensor x = random_floats({4, 3});
  const auto v = x.values<float>();
  const std::vector<float> w = numbers(12);
  for (const size_t coefficients : {6u, 8u, 12u}) {
    const std::vector<Tensor> got = evaluated(linear(coefficients, x));
    for (size_t r = 0; r < 4; r++) {
      double score[2] = {1, -2};
      for (size_t c = 0; c < 2; c++)
        for (size_t k = 0; k < 3; k++) score[c] += v[r * 3 + k] * w[c * 3 + k];
      for (size_t c = 0; c < 2; c++)
        EXPECT_NEAR(got[1].values<float>()[r * 2 + c], score[c], 1e-5) << coefficients;
      EXPECT_EQ(got[0].values<int64_t>()[r], score[1] > score[0] ? 20 : 10);
    }
  }
}

TEST(LinearClassifier, OtherNumbersOfCoefficientsAreRefused) {
  for (const size_t coefficients : {4u, 7u})
    EXPECT_THROW(evaluated(linear(coefficients, random_floats({4, 3}))), Error) << coefficients;
}

}  // namespace
}  // namespace poprt::ops
