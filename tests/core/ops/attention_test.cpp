// Attention and the operators around it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/ops/sample.h"
#include "core/ops/sub_byte.h"
#include "ir/newest.h"
#include "ops/common/evaluate.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(Attention) {
  // Two query heads share one key head; causal after one past key.
  samples.add("Attention", 23)
      .input(random_f32({1, 2, 3, 4}))
      .input(random_f32({1, 1, 3, 4}, -1, 1, 2))
      .input(random_f32({1, 1, 3, 5}, -1, 1, 3))
      .omit()
      .input(random_f32({1, 1, 1, 4}, -1, 1, 4))
      .input(random_f32({1, 1, 1, 5}, -1, 1, 5))
      .attr("is_causal", int64_t{1})
      .attr("softcap", 2.0f)
      .shape({1, 2, 3, 5})
      .shape({1, 1, 4, 4})
      .shape({1, 1, 4, 5})
      .reference([](const SampleValues& in) {
        std::vector<double> k = in[4], v = in[5], y;
        k.insert(k.end(), in[1].begin(), in[1].end());
        v.insert(v.end(), in[2].begin(), in[2].end());
        for (size_t row = 0; row < 6; row++) {
          const size_t keys = row % 3 + 2;
          std::vector<double> p;
          double sum = 0;
          for (size_t j = 0; j < keys; j++) {
            double score = 0;
            for (size_t d = 0; d < 4; d++) score += in[0][row * 4 + d] * k[j * 4 + d] / 2;
            p.push_back(std::exp(2 * std::tanh(score / 2)));
            sum += p.back();
          }
          for (size_t c = 0; c < 5; c++) {
            double out = 0;
            for (size_t j = 0; j < keys; j++) out += p[j] / sum * v[j * 5 + c];
            y.push_back(out);
          }
        }
        return SampleValues{y, k, v};
      });
}

// One or two queries are computed without panels. q and y are 3-D; there are four heads of queries
// and two of keys.
OPS_SAMPLE(AttentionOfFewQueries) {
  const int64_t batch = 2, heads = 4, kv = 2, size = 40, wide = 24;
  for (const auto& [queries, keys] : {std::pair<int64_t, int64_t>{1, 70}, {2, 33}})
    samples.add("Attention", 23)
        .input(random_f32({batch, queries, heads * size}))
        .input(random_f32({batch, keys, kv * size}, -1, 1, 2))
        .input(random_f32({batch, keys, kv * wide}, -1, 1, 3))
        .attr("q_num_heads", heads)
        .attr("kv_num_heads", kv)
        .shape({batch, queries, heads * wide})
        .reference([=](const SampleValues& in) {
          const auto at = [](const std::vector<double>& v, int64_t i) {
            return v[static_cast<size_t>(i)];
          };
          std::vector<double> y;
          for (int64_t b = 0; b < batch; b++)
            for (int64_t i = 0; i < queries; i++)
              for (int64_t h = 0; h < heads; h++) {
                const int64_t g = h / 2;
                std::vector<double> p;
                double sum = 0;
                for (int64_t j = 0; j < keys; j++) {
                  double score = 0;
                  for (int64_t d = 0; d < size; d++)
                    score += at(in[0], ((b * queries + i) * heads + h) * size + d) *
                             at(in[1], ((b * keys + j) * kv + g) * size + d);
                  p.push_back(std::exp(score / std::sqrt(static_cast<double>(size))));
                  sum += p.back();
                }
                for (int64_t c = 0; c < wide; c++) {
                  double out = 0;
                  for (int64_t j = 0; j < keys; j++)
                    out += at(p, j) / sum * at(in[2], ((b * keys + j) * kv + g) * wide + c);
                  y.push_back(out);
                }
              }
          return SampleValues{y};
        });
}

// Tests a mask of booleans, and the scores before it, including keys that no query sees.
TEST(Attention, BooleanMasksAndScores) {
  constexpr int64_t kHeads = 2, kQueries = 3, kKeys = 70, kSize = 8, kWide = 5;
  for (const DType type : {DType::f32, DType::f64, DType::f16})
    for (const bool causal : {true, false}) {
      const auto as = [&](const Tensor& t) {
        Tensor out = Tensor::zeros(type, t.shape());
        for (size_t i = 0; i < static_cast<size_t>(t.count()); i++) {
          if (type == DType::f32) out.mutable_values<float>()[i] = t.values<float>()[i];
          if (type == DType::f64) out.mutable_values<double>()[i] = t.values<float>()[i];
          if (type == DType::f16) out.mutable_values<f16_t>()[i] = to_f16(t.values<float>()[i]);
        }
        return out;
      };
      Tensor mask = Tensor::zeros(DType::boolean, {kQueries, kKeys});
      std::mt19937 rng(5);
      for (bool& sees : mask.mutable_values<bool>()) sees = rng() % 3 == 0;
      for (int64_t i = 0; i < kQueries; i++)  // each query sees some key
        mask.mutable_values<bool>()[static_cast<size_t>(i * kKeys)] = true;
      Sample s;
      s.op = "Attention";
      s.opset = 23;
      s.input(as(random_f32({1, kHeads, kQueries, kSize})))
          .input(as(random_f32({1, kHeads, kKeys, kSize}, -1, 1, 2)))
          .input(as(random_f32({1, kHeads, kKeys, kWide}, -1, 1, 3)))
          .input(mask)
          .attr("is_causal", int64_t{causal})
          .shape({})
          .shape({})
          .shape({})
          .shape({});
      const SampleGraph g = make_graph(s);
      infer(*g.node);
      const auto results = evaluate(*g.node, s.inputs);
      const auto y = results[0].to_doubles(), scores = results[3].to_doubles();
      const auto q = s.inputs[0].to_doubles(), k = s.inputs[1].to_doubles(),
                 v = s.inputs[2].to_doubles();
      const double tolerance = type == DType::f16 ? 5e-3 : 1e-5;
      ASSERT_EQ(scores.size(), static_cast<size_t>(kHeads * kQueries * kKeys));
      for (int64_t h = 0; h < kHeads; h++)
        for (int64_t i = 0; i < kQueries; i++) {
          std::vector<double> weights(kKeys);
          double sum = 0;
          for (int64_t j = 0; j < kKeys; j++) {
            double score = 0;
            for (int64_t d = 0; d < kSize; d++)
              score += q[static_cast<size_t>((h * kQueries + i) * kSize + d)] *
                       k[static_cast<size_t>((h * kKeys + j) * kSize + d)];
            score /= std::sqrt(static_cast<double>(kSize));
            ASSERT_NEAR(scores[static_cast<size_t>((h * kQueries + i) * kKeys + j)], score,
                        tolerance * 2)
                << dtype_name(type) << " key " << j;
            const bool sees = mask.values<bool>()[static_cast<size_t>(i * kKeys + j)];
            if (!sees || (causal && j > i)) continue;
            sum += weights[static_cast<size_t>(j)] = std::exp(score);
          }
          for (int64_t c = 0; c < kWide; c++) {
            double wanted = 0;
            for (int64_t j = 0; j < kKeys; j++)
              wanted += weights[static_cast<size_t>(j)] / sum *
                        v[static_cast<size_t>((h * kKeys + j) * kWide + c)];
            ASSERT_NEAR(y[static_cast<size_t>((h * kQueries + i) * kWide + c)], wanted, tolerance)
                << dtype_name(type) << (causal ? " causal" : "");
          }
        }
    }
}

// Caches are longer than their valid part, and the rest may be NaN.
TEST(Attention, ReadsNoKeyThatNoQuerySees) {
  constexpr int64_t kBatch = 2, kHeads = 4, kKv = 2, kKeys = 230, kSize = 20, kWide = 12;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::mt19937 rng(8);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto random = [&](int64_t count) {
    std::vector<double> v(static_cast<size_t>(count));
    for (double& x : v) x = uniform(rng);
    return v;
  };
  const auto tensor = [](DType type, Shape shape, const std::vector<double>& v) {
    if (type == DType::f64) return Tensor::of<double>(shape, std::span<const double>(v));
    const std::vector<float> single(v.begin(), v.end());
    return Tensor::of<float>(shape, std::span<const float>(single));
  };
  const std::vector<int64_t> lengths = {203, 31};
  for (const DType type : {DType::f32, DType::f64})
    for (const int64_t queries : {1, 2, 5, 30, 200})
      for (const int64_t window : {-1, 7})
        for (const bool causal : {true, false}) {
          if (!causal && window >= 0) continue;
          auto k = random(kBatch * kKv * kKeys * kSize), v = random(kBatch * kKv * kKeys * kWide);
          const auto q = random(kBatch * kHeads * queries * kSize);
          // The keys that query i of batch b sees.
          const auto range = [&](int64_t b, int64_t i) {
            const int64_t length = lengths[static_cast<size_t>(b)];
            const int64_t at = i + length - queries;
            return std::pair(window >= 0 ? std::max<int64_t>(0, at - window) : 0,
                             causal ? std::min(length, at + 1) : length);
          };
          for (int64_t b = 0; b < kBatch; b++)
            for (int64_t j = 0; j < kKeys; j++) {
              if (j < range(b, queries - 1).second && j >= range(b, 0).first) continue;
              for (int64_t h = 0; h < kKv; h++) {
                const int64_t row = (b * kKv + h) * kKeys + j;
                std::fill_n(k.begin() + row * kSize, kSize, kNan);
                std::fill_n(v.begin() + row * kWide, kWide, kNan);
              }
            }
          Sample s;
          s.op = "Attention";
          s.domain = ir::kNewestDomain;
          s.input(tensor(type, {kBatch, kHeads, queries, kSize}, q))
              .input(tensor(type, {kBatch, kKv, kKeys, kSize}, k))
              .input(tensor(type, {kBatch, kKv, kKeys, kWide}, v))
              .omit()
              .omit()
              .omit()
              .input(Tensor::of<int64_t>({kBatch}, std::span<const int64_t>(lengths)))
              .attr("is_causal", int64_t{causal})
              .attr("left_window_size", window);
          const SampleGraph g = make_graph(s);
          infer(*g.node);
          const auto got = evaluate(*g.node, s.inputs)[0].to_doubles();
          size_t at = 0;
          for (int64_t b = 0; b < kBatch; b++)
            for (int64_t h = 0; h < kHeads; h++)
              for (int64_t i = 0; i < queries; i++) {
                const auto [first, end] = range(b, i);
                std::vector<double> p, y(kWide);
                double sum = 0;
                for (int64_t j = first; j < end; j++) {
                  double score = 0;
                  for (int64_t d = 0; d < kSize; d++)
                    score += q[static_cast<size_t>(((b * kHeads + h) * queries + i) * kSize + d)] *
                             k[static_cast<size_t>(((b * kKv + h / 2) * kKeys + j) * kSize + d)];
                  p.push_back(std::exp(score / std::sqrt(static_cast<double>(kSize))));
                  sum += p.back();
                }
                for (int64_t j = first; j < end; j++)
                  for (int64_t c = 0; c < kWide; c++)
                    y[static_cast<size_t>(c)] +=
                        p[static_cast<size_t>(j - first)] / sum *
                        v[static_cast<size_t>(((b * kKv + h / 2) * kKeys + j) * kWide + c)];
                for (const double want : y)
                  ASSERT_NEAR(got[at++], want, type == DType::f64 ? 1e-12 : 1e-5)
                      << dtype_name(type) << " queries " << queries << " window " << window
                      << " causal " << causal << " batch " << b << " query " << i;
              }
        }
}

OPS_SAMPLE(RotaryEmbedding) {
  samples.add("RotaryEmbedding", 23)
      .input(random_f32({1, 2, 3, 6}))
      .input(random_f32({1, 3, 2}, -1, 1, 2))
      .input(random_f32({1, 3, 2}, -1, 1, 3))
      .attr("rotary_embedding_dim", int64_t{4})
      .shape({1, 2, 3, 6})
      .reference([](const SampleValues& in) {
        std::vector<double> y = in[0];
        for (size_t row = 0; row < 6; row++)
          for (size_t i = 0; i < 2; i++) {
            const double a = in[0][row * 6 + i], b = in[0][row * 6 + i + 2];
            const double c = in[1][row % 3 * 2 + i], s = in[2][row % 3 * 2 + i];
            y[row * 6 + i] = c * a - s * b;
            y[row * 6 + i + 2] = s * a + c * b;
          }
        return SampleValues{y};
      });
}

OPS_SAMPLE(RotaryEmbeddingInterleaved) {
  samples.add("RotaryEmbedding", 23)
      .input(random_f32({1, 3, 8}))
      .input(random_f32({5, 2}, -1, 1, 2))
      .input(random_f32({5, 2}, -1, 1, 3))
      .input(Tensor::of<int64_t>({1, 3}, {4, 0, 2}))
      .attr("interleaved", int64_t{1})
      .attr("num_heads", int64_t{2})
      .shape({1, 3, 8})
      .reference([](const SampleValues& in) {
        std::vector<double> y;
        for (size_t i = 0; i < 24; i += 2) {
          const size_t row = static_cast<size_t>(in[3][i / 8]) * 2 + i / 2 % 2;
          const double a = in[0][i], b = in[0][i + 1], c = in[1][row], s = in[2][row];
          y.push_back(c * a - s * b);
          y.push_back(s * a + c * b);
        }
        return SampleValues{y};
      });
}

OPS_SAMPLE(LinearAttentionFromAState) {
  // Rule "linear": the first state is one key times value; there are two tokens; the scale is
  // 1 / sqrt(3).
  samples.add("LinearAttention", 27)
      .input(random_f32({1, 2, 3}))
      .input(random_f32({1, 2, 3}, -1, 1, 2))
      .input(random_f32({1, 2, 2}, -1, 1, 3))
      .input(random_f32({1, 1, 3, 2}, -1, 1, 4))
      .attr("update_rule", std::string("linear"))
      .attr("q_num_heads", int64_t{1})
      .attr("kv_num_heads", int64_t{1})
      .shape({1, 2, 2})
      .shape({1, 1, 3, 2})
      .reference([](const SampleValues& in) {
        std::vector<double> s = in[3], y;
        for (size_t t = 0; t < 2; t++) {
          for (size_t i = 0; i < 6; i++) s[i] += in[1][t * 3 + i / 2] * in[2][t * 2 + i % 2];
          for (size_t j = 0; j < 2; j++) {
            double o = 0;
            for (size_t i = 0; i < 3; i++) o += in[0][t * 3 + i] * s[i * 2 + j];
            y.push_back(o / std::sqrt(3.0));
          }
        }
        return SampleValues{y, s};
      });
}

OPS_SAMPLE(LinearAttention) {
  samples.add("LinearAttention", 27)
      .input(random_f32({1, 2, 6}))
      .input(random_f32({1, 2, 3}, -1, 1, 2))
      .input(random_f32({1, 2, 2}, -1, 1, 3))
      .omit()
      .input(random_f32({1, 2, 1}, -1, 0, 4))
      .input(random_f32({1, 2, 1}, 0, 1, 5))
      .attr("q_num_heads", int64_t{2})
      .attr("kv_num_heads", int64_t{1})
      .attr("scale", 0.5f)
      .shape({1, 2, 4})
      .shape({1, 1, 3, 2})
      .reference([](const SampleValues& in) {
        std::vector<double> s(6, 0), y;
        for (size_t t = 0; t < 2; t++) {
          for (double& v : s) v *= std::exp(in[4][t]);
          double u[2];
          for (size_t j = 0; j < 2; j++) {
            u[j] = in[2][t * 2 + j];
            for (size_t i = 0; i < 3; i++) u[j] -= s[i * 2 + j] * in[1][t * 3 + i];
            u[j] *= in[5][t];
          }
          for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 2; j++) s[i * 2 + j] += in[1][t * 3 + i] * u[j];
          for (size_t h = 0; h < 2; h++)
            for (size_t j = 0; j < 2; j++) {
              double o = 0;
              for (size_t i = 0; i < 3; i++) o += in[0][t * 6 + h * 3 + i] * s[i * 2 + j];
              y.push_back(o / 2);
            }
        }
        return SampleValues{y, s};
      });
}

OPS_SAMPLE(CausalConvWithState) {
  samples.add("CausalConvWithState", 27)
      .input(random_f32({1, 2, 4}))
      .input(random_f32({2, 1, 3}, -1, 1, 2))
      .input(random_f32({2}, -1, 1, 3))
      .input(random_f32({1, 2, 2}, -1, 1, 4))
      .attr("activation", std::string("silu"))
      .shape({1, 2, 4})
      .shape({1, 2, 2})
      .reference([](const SampleValues& in) {
        std::vector<double> y, state;
        for (size_t c = 0; c < 2; c++) {
          std::vector<double> x = {in[3][c * 2], in[3][c * 2 + 1]};
          for (size_t t = 0; t < 4; t++) x.push_back(in[0][c * 4 + t]);
          for (size_t t = 0; t < 4; t++) {
            double v = in[2][c];
            for (size_t k = 0; k < 3; k++) v += in[1][c * 3 + k] * x[t + k];
            y.push_back(v / (1 + std::exp(-v)));
          }
          state.insert(state.end(), {x[4], x[5]});
        }
        return SampleValues{y, state};
      });
}

TEST(TensorScatter, ElementsSmallerThanAByte) {
  for (const std::string mode : {"linear", "circular"})
    test::expect_moves_sub_byte({"TensorScatter",
                                 24,
                                 {{"mode", mode}},
                                 {Tensor::zeros(DType::f32, {2, 3, 5, 3}),
                                  Tensor::zeros(DType::f32, {2, 3, 2, 3}), test::ints({1, 3})}},
                                {0, 1});
}

OPS_SAMPLE(TensorScatter) {
  samples.add("TensorScatter", 24)
      .input(random_f32({2, 4, 3}))
      .input(random_f32({2, 2, 3}, -1, 1, 2))
      .input(Tensor::of<int64_t>({2}, {1, 3}))
      .attr("mode", std::string("circular"))
      .shape({2, 4, 3})
      .reference([](const SampleValues& in) {
        std::vector<double> y = in[0];
        for (size_t b = 0; b < 2; b++)
          for (size_t i = 0; i < 2; i++)
            for (size_t c = 0; c < 3; c++)
              y[(b * 4 + (static_cast<size_t>(in[2][b]) + i) % 4) * 3 + c] =
                  in[1][(b * 2 + i) * 3 + c];
        return SampleValues{y};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled
