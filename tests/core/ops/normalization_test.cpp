// Compares Softmax and the normalisations with plain loops in double.
#include <gtest/gtest.h>

#include <cmath>

#include "core/ops/sample.h"
#include "ops/common/evaluate.h"

namespace poprt::ops::sampled {
namespace {

// Applies f to every line of n elements along the middle of [outer, n, inner].
template <class F>
std::vector<double> along(const std::vector<double>& x, size_t outer, size_t n, size_t inner, F f) {
  std::vector<double> y(x.size());
  for (size_t o = 0; o < outer; o++)
    for (size_t c = 0; c < inner; c++) {
      std::vector<double> line;
      for (size_t i = 0; i < n; i++) line.push_back(x[(o * n + i) * inner + c]);
      f(line);
      for (size_t i = 0; i < n; i++) y[(o * n + i) * inner + c] = line[i];
    }
  return y;
}

void softmax(std::vector<double>& v) {
  double top = v[0], total = 0;
  for (const double x : v) top = std::fmax(top, x);
  for (double& x : v) total += x = std::exp(x - top);
  for (double& x : v) x /= total;
}
void log_softmax(std::vector<double>& v) {
  softmax(v);
  for (double& x : v) x = std::log(x);
}
void hardmax(std::vector<double>& v) {
  size_t best = 0;
  for (size_t i = 1; i < v.size(); i++)
    if (v[i] > v[best]) best = i;
  for (size_t i = 0; i < v.size(); i++) v[i] = i == best;
}

OPS_SAMPLE(Softmax) {
  const auto add = [&](const char* op, void (*f)(std::vector<double>&)) {
    const auto at = [&](int64_t opset, Shape shape, int64_t axis, size_t outer, size_t n,
                        size_t inner) {
      samples.add(op, opset)
          .input(random_f32(shape, -9, 9))
          .attr("axis", axis)
          .shape(shape)
          .tolerance(1e-5, 1e-6)
          .reference([=](const SampleValues& in) {
            return SampleValues{along(in[0], outer, n, inner, f)};
          });
    };
    at(13, {3, 128}, -1, 3, 128, 1);
    at(13, {3, 37}, 1, 3, 37, 1);
    at(13, {2, 5, 21}, 1, 2, 5, 21);
    at(13, {4, 3}, 0, 1, 4, 3);
    at(11, {2, 3, 4}, 1, 2, 12, 1);
    at(11, {2, 3, 4}, 2, 6, 4, 1);
  };
  add("Softmax", softmax);
  add("LogSoftmax", log_softmax);
  add("Hardmax", hardmax);
}

// y = (x - mean) / sqrt(var + eps), per line, then scale and bias by `entry(line, i)`.
OPS_SAMPLE(LayerNormalization) {
  for (const int64_t n : {768, 37}) {
    samples.add("LayerNormalization", 17)
        .input(random_f32({2, 3, n}, -2, 5))
        .input(random_f32({n}, 0.5, 2, 2))
        .input(random_f32({n}, -1, 1, 3))
        .shape({2, 3, n})
        .shape({2, 3, 1})
        .shape({2, 3, 1})
        .dtype(DType::f32)
        .dtype(DType::f32)
        .dtype(DType::f32)
        .tolerance(1e-5, 2e-6)
        .reference([=](const SampleValues& in) {
          const auto count = static_cast<size_t>(n);
          SampleValues y(3);
          for (size_t r = 0; r < 6; r++) {
            double mean = 0, var = 0;
            for (size_t i = 0; i < count; i++) mean += in[0][r * count + i] / double(n);
            for (size_t i = 0; i < count; i++)
              var += std::pow(in[0][r * count + i] - mean, 2) / double(n);
            const double inverse = 1 / std::sqrt(var + 1e-5);
            for (size_t i = 0; i < count; i++)
              y[0].push_back((in[0][r * count + i] - mean) * inverse * in[1][i] + in[2][i]);
            y[1].push_back(mean);
            y[2].push_back(inverse);
          }
          return y;
        });
  }
}

OPS_SAMPLE(RmsNormalization) {
  for (const char* op : {"SimplifiedLayerNormalization", "RMSNormalization"})
    samples.add(op, 23)
        .input(random_f32({4, 50}, -2, 5))
        .input(random_f32({50}, 0.5, 2, 2))
        .attr("epsilon", 1e-3f)
        .shape({4, 50})
        .reference([](const SampleValues& in) {
          SampleValues y(1);
          for (size_t r = 0; r < 4; r++) {
            double square = 0;
            for (size_t i = 0; i < 50; i++) square += std::pow(in[0][r * 50 + i], 2) / 50;
            for (size_t i = 0; i < 50; i++)
              y[0].push_back(in[0][r * 50 + i] / std::sqrt(square + double(1e-3f)) * in[1][i]);
          }
          return y;
        });
}

// x [2,3,4] from `axis` on; scale and bias broadcast to it.
SampleValues broadcast_norm(const SampleValues& in, size_t axis, bool rms, const Shape& scale,
                            const Shape& bias) {
  const size_t n = axis == 1 ? 12 : 4;
  const auto entry = [](const std::vector<double>& v, const Shape& shape, size_t at) {
    size_t index[3] = {at / 12, at / 4 % 3, at % 4}, flat = 0;
    for (size_t d = 0; d < shape.size(); d++) {
      const size_t of = index[3 - shape.size() + d];
      flat = flat * static_cast<size_t>(shape[d]) + (shape[d] == 1 ? 0 : of);
    }
    return v[flat];
  };
  SampleValues y(1);
  for (size_t r = 0; r < 24 / n; r++) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < n && !rms; i++) mean += in[0][r * n + i] / double(n);
    for (size_t i = 0; i < n; i++) square += std::pow(in[0][r * n + i] - mean, 2) / double(n);
    for (size_t i = 0; i < n; i++) {
      const size_t at = r * n + i;
      const double v = (in[0][at] - mean) / std::sqrt(square + double(1e-5f));
      y[0].push_back(v * entry(in[1], scale, at) + (rms ? 0 : entry(in[2], bias, at)));
    }
  }
  return y;
}

OPS_SAMPLE(BroadcastScale) {
  const auto add = [&](bool rms, int64_t axis, const Shape& scale, const Shape& bias) {
    Sample& s = samples.add(rms ? "RMSNormalization" : "LayerNormalization", 23)
                    .input(random_f32({2, 3, 4}, -2, 5))
                    .input(random_f32(scale, 0.5, 2, 2));
    if (!rms) s.input(random_f32(bias, -1, 1, 3));
    s.attr("axis", axis)
        .shape({2, 3, 4})
        .tolerance(1e-5, 2e-6)
        .reference([=](const SampleValues& in) {
          return broadcast_norm(in, static_cast<size_t>(axis), rms, scale, bias);
        });
  };
  add(false, 2, {3, 1}, {4});
  add(false, 2, {4}, {2, 1, 1});
  add(false, 2, {2, 3, 4}, {2, 3, 4});
  add(false, 1, {1}, {3, 1});
  add(false, 1, {1, 3, 4}, {4});
  add(true, 1, {3, 1}, {});
  add(true, 2, {3, 1}, {});
}

TEST(LayerNormalization, RefusesAScaleThatDoesNotBroadcast) {
  SampleList list;
  const Sample& s = list.add("LayerNormalization", 17)
                        .input(random_f32({2, 3, 4}))
                        .input(random_f32({3}))
                        .attr("axis", int64_t{2})
                        .shape({2, 3, 4});
  const SampleGraph g = make_graph(s);
  infer(*g.node);
  EXPECT_THROW(evaluate(*g.node, s.inputs), Error);
}

// With stash_type 11, the statistics are doubles.
OPS_SAMPLE(StashInDouble) {
  samples.add("LayerNormalization", 17)
      .input(random_f32({2, 3, 4}, -2, 5))
      .input(random_f32({4}, 0.5, 2, 2))
      .input(random_f32({4}, -1, 1, 3))
      .attr("axis", int64_t{2})
      .attr("stash_type", int64_t{11})
      .shape({2, 3, 4})
      .shape({2, 3, 1})
      .dtype(DType::f32)
      .dtype(DType::f64)
      .reference([](const SampleValues& in) {
        SampleValues y = broadcast_norm(in, 2, false, {4}, {4});
        y.emplace_back();
        for (size_t r = 0; r < 6; r++) {
          y[1].push_back(0);
          for (size_t i = 0; i < 4; i++) y[1][r] += in[0][r * 4 + i] / 4;
        }
        return y;
      });
}

// x [2,4,5,3] in `groups` groups; scale and bias by channel or by group.
SampleValues group_norm(const SampleValues& in, size_t groups, bool per_channel) {
  const size_t channels = 4, spatial = 15, n = channels / groups * spatial;
  SampleValues y(1);
  for (size_t r = 0; r < 2 * groups; r++) {
    double mean = 0, var = 0;
    for (size_t i = 0; i < n; i++) mean += in[0][r * n + i] / double(n);
    for (size_t i = 0; i < n; i++) var += std::pow(in[0][r * n + i] - mean, 2) / double(n);
    for (size_t i = 0; i < n; i++) {
      const size_t group = r % groups;
      const size_t e = per_channel ? group * (channels / groups) + i / spatial : group;
      y[0].push_back((in[0][r * n + i] - mean) / std::sqrt(var + 1e-5) * in[1][e] + in[2][e]);
    }
  }
  return y;
}

OPS_SAMPLE(ChannelNormalization) {
  const auto add = [&](const char* op, int64_t opset, int64_t entries, size_t groups,
                       bool per_channel) -> Sample& {
    return samples.add(op, opset)
        .input(random_f32({2, 4, 5, 3}, -2, 5))
        .input(random_f32({entries}, 0.5, 2, 2))
        .input(random_f32({entries}, -1, 1, 3))
        .shape({2, 4, 5, 3})
        .tolerance(1e-5, 2e-6)
        .reference([=](const SampleValues& in) { return group_norm(in, groups, per_channel); });
  };
  add("InstanceNormalization", 6, 4, 4, true);
  add("GroupNormalization", 21, 4, 2, true).attr("num_groups", int64_t{2});
  add("GroupNormalization", 18, 2, 2, false).attr("num_groups", int64_t{2});
}

OPS_SAMPLE(LpNormalization) {
  for (const int64_t p : {1, 2})
    samples.add("LpNormalization", 1)
        .input(random_f32({3, 7, 2}))
        .attr("p", p)
        .attr("axis", int64_t{1})
        .shape({3, 7, 2})
        .reference([=](const SampleValues& in) {
          return SampleValues{along(in[0], 3, 7, 2, [p](std::vector<double>& v) {
            double norm = 0;
            for (const double x : v) norm += p == 1 ? std::fabs(x) : x * x;
            for (double& x : v) x /= p == 1 ? norm : std::sqrt(norm);
          })};
        });
}

OPS_SAMPLE(MeanVarianceNormalization) {
  samples.add("MeanVarianceNormalization", 13)
      .input(random_f32({3, 2, 4, 5}, -1, 4))
      .shape({3, 2, 4, 5})
      .reference([](const SampleValues& in) {
        std::vector<double> y(in[0].size());
        for (size_t c = 0; c < 2; c++) {
          double mean = 0, var = 0;
          const auto each = [&](auto f) {
            for (size_t b = 0; b < 3; b++)
              for (size_t i = 0; i < 20; i++) f((b * 2 + c) * 20 + i);
          };
          each([&](size_t i) { mean += in[0][i] / 60; });
          each([&](size_t i) { var += (in[0][i] - mean) * (in[0][i] - mean) / 60; });
          each([&](size_t i) { y[i] = (in[0][i] - mean) / (std::sqrt(var) + 1e-9); });
        }
        return SampleValues{y};
      });
}

TEST(Softmax, LargeInputsDoNotOverflow) {
  SampleList list;
  const Sample& s =
      list.add("Softmax", 13).input(Tensor::of<float>({3}, {1000.0f, 1001.0f, -1000.0f}));
  const SampleGraph g = make_graph(s);
  infer(*g.node);
  const auto y = evaluate(*g.node, s.inputs)[0].to_doubles();
  EXPECT_NEAR(y[0], 1 / (1 + std::exp(1.0)), 1e-6);
  EXPECT_NEAR(y[0] + y[1] + y[2], 1, 1e-6);
}

// The mean of no elements is 0 / 0.
TEST(LayerNormalization, StatisticsOfEmptyRowsAreNaN) {
  const auto y =
      test::run_node({"LayerNormalization",
                      17,
                      {},
                      {Tensor::zeros(DType::f32, {2, 0}), Tensor::zeros(DType::f32, {0})},
                      3,
                      {0, 1}});
  EXPECT_EQ(y[0].count(), 0);
  for (const size_t o : {1, 2}) {
    ASSERT_EQ(y[o].shape(), (Shape{2, 1}));
    for (const float v : y[o].values<float>()) EXPECT_TRUE(std::isnan(v));
  }
}

TEST(LayerNormalization, VarianceSurvivesALargeMean) {
  SampleList list;
  Tensor x = Tensor::zeros(DType::f32, {1, 256});
  for (size_t i = 0; i < 256; i++) x.mutable_values<float>()[i] = 4096.0f + (i % 2 ? 1.0f : -1.0f);
  const Sample& s =
      list.add("LayerNormalization", 17).input(x).input(Tensor::of<float>({1}, {1.0f}));
  const SampleGraph g = make_graph(s);
  infer(*g.node);
  const auto y = evaluate(*g.node, s.inputs)[0].to_doubles();
  for (size_t i = 0; i < 256; i++) EXPECT_NEAR(y[i], i % 2 ? 1 : -1, 1e-4);
}

}  // namespace
}  // namespace poprt::ops::sampled
