#include <gtest/gtest.h>

#include <cmath>

#include "core/ops/sample.h"
#include "ops/common/evaluate.h"

namespace poprt::ops::sampled {
namespace {

// The parameters of these samples determine the result.
OPS_SAMPLE(Random) {
  const auto always = [](double v) {
    return [v](const SampleValues&) { return SampleValues{{v, v, v, v, v, v}}; };
  };
  for (const char* op : {"RandomUniform", "RandomUniformLike"}) {
    Sample& s = samples.add(op, 1).attr("low", 3.0f).attr("high", 3.0f).shape({2, 3});
    if (std::string(op) == "RandomUniform")
      s.attr("shape", std::vector<int64_t>{2, 3});
    else
      s.input(random_f32({2, 3}));
    s.dtype(DType::f32).reference(always(3));
  }
  for (const char* op : {"RandomNormal", "RandomNormalLike"}) {
    Sample& s = samples.add(op, 1).attr("mean", 3.0f).attr("scale", 0.0f).shape({2, 3});
    if (std::string(op) == "RandomNormal")
      s.attr("shape", std::vector<int64_t>{2, 3});
    else
      s.input(random_f32({2, 3}));
    s.dtype(DType::f32).reference(always(3));
  }
  samples.add("Bernoulli", 15)
      .input(Tensor::of<float>({3}, {0, 1, 0}))
      .shape({3})
      .reference([](const SampleValues& in) { return SampleValues{in[0]}; });
  samples.add("Multinomial", 7)
      .input(Tensor::of<float>({2, 3}, {-900, 0, -900, 0, -900, -900}))
      .attr("sample_size", int64_t{3})
      .shape({2, 3})
      .dtype(DType::s32)
      .reference([](const SampleValues&) { return SampleValues{{1, 1, 1, 0, 0, 0}}; });
}

std::vector<double> draw(const char* op, float seed) {
  SampleList list;
  const Sample& s = list.add(op, 1)
                        .attr("shape", std::vector<int64_t>{100, 100})
                        .attr("seed", seed)
                        .shape({100, 100});
  const SampleGraph g = make_graph(s);
  infer(*g.node);
  return evaluate(*g.node, {})[0].to_doubles();
}

TEST(Random, NormalNumbersHaveTheirMeanAndDeviation) {
  double mean = 0, square = 0;
  for (const double v : draw("RandomNormal", 1)) {
    mean += v / 1e4;
    square += v * v / 1e4;
  }
  EXPECT_NEAR(mean, 0, 0.05);
  EXPECT_NEAR(square, 1, 0.05);
}

TEST(Random, UniformNumbersStayInRangeAndSpread) {
  double mean = 0;
  for (const double v : draw("RandomUniform", 1)) {
    EXPECT_GE(v, 0);
    EXPECT_LT(v, 1);
    mean += v / 1e4;
  }
  EXPECT_NEAR(mean, 0.5, 0.02);
}

TEST(Random, ASeedRepeatsItsNumbersAndAnotherDoesNot) {
  EXPECT_EQ(draw("RandomUniform", 1), draw("RandomUniform", 1));
  EXPECT_NE(draw("RandomUniform", 1), draw("RandomUniform", 2));
}

}  // namespace
}  // namespace poprt::ops::sampled
