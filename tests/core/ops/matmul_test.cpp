#include "core/ops/built_node.h"

namespace poprt::ops {
namespace {

// C = A B (+ bias) in double, with the sum of magnitudes.
struct Reference {
  std::vector<double> value, magnitude;
  Reference(std::span<const float> a, std::span<const float> b, int64_t m, int64_t k, int64_t n,
            std::span<const float> bias = {}, std::span<const float> residual = {}) {
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double v = 0, s = 0;
        for (int64_t p = 0; p < k; p++) {
          const double x = static_cast<double>(a[static_cast<size_t>(i * k + p)]) *
                           static_cast<double>(b[static_cast<size_t>(p * n + j)]);
          v += x;
          s += std::abs(x);
        }
        if (!bias.empty()) v += static_cast<double>(bias[static_cast<size_t>(j)]);
        if (!residual.empty()) v += static_cast<double>(residual[static_cast<size_t>(i * n + j)]);
        value.push_back(v);
        magnitude.push_back(s + 2);
      }
  }
};

TEST(Linear, MatchesNaiveLoopsOnAnyShape) {
  std::mt19937 rng(1);
  const int64_t shapes[][3] = {{1, 1, 1},     {1, 64, 10},   {2, 7, 47},     {3, 16, 48},
                               {5, 33, 49},   {7, 513, 33},  {8, 128, 128},  {9, 64, 100},
                               {17, 5, 16},   {130, 40, 65}, {31, 1030, 50}, {300, 20, 97},
                               {4, 600, 200}, {6, 2, 500}};
  for (const auto& [m, k, n] : shapes) {
    SCOPED_TRACE(testing::Message() << m << "x" << k << "x" << n);
    const Tensor a = random_tensor({m, k}, rng), b = random_tensor({k, n}, rng);
    const Tensor bias = random_tensor({n}, rng), residual = random_tensor({m, n}, rng);
    BuiltNode c("Linear", "poprt", {{a, false}, {b, true}, {bias, true}, {residual, false}});
    const Reference want(a.values<float>(), b.values<float>(), m, k, n, bias.values<float>(),
                         residual.values<float>());
    const Tensor got = c.run()[0];
    expect_close(got.values<float>(), want.value, want.magnitude);
  }
}

TEST(Linear, AppliesEveryActivationBeforeOrAfterTheResidual) {
  std::mt19937 rng(2);
  const Tensor a = random_tensor({11, 20}, rng), b = random_tensor({20, 70}, rng),
               residual = random_tensor({11, 70}, rng);
  const Reference plain(a.values<float>(), b.values<float>(), 11, 20, 70);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const std::map<std::string, std::function<double(double)>> activations = {
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"clip", [](double x) { return std::min(std::max(x, -0.5), 0.75); }},
      {"sigmoid", sigmoid},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"silu", [&](double x) { return x * sigmoid(-0.5 * x); }},
      {"gelu_erf", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"leaky_relu", [](double x) { return x < 0 ? -0.5 * x : x; }}};
  for (const auto& [name, f] : activations)
    for (const bool after : {false, true}) {
      SCOPED_TRACE(name);
      BuiltNode c("Linear", "poprt", {{a, false}, {b, true}, {Tensor(), false}, {residual, false}},
                  {{"activation", name},
                   {"alpha", -0.5f},
                   {"beta", 0.75f},
                   {"residual_after_activation", int64_t{after}}});
      std::vector<double> want;
      for (size_t i = 0; i < plain.value.size(); i++) {
        const double r = static_cast<double>(residual.values<float>()[i]);
        want.push_back(after ? f(plain.value[i]) + r : f(plain.value[i] + r));
      }
      const Tensor got = c.run()[0];
      expect_close(got.values<float>(), want, plain.magnitude);
    }
}

TEST(Linear, TransposedWeightsGiveTheSameBits) {
  std::mt19937 rng(3);
  const Tensor a = random_tensor({5, 30}, rng), b = random_tensor({30, 61}, rng);
  Tensor bt = Tensor::zeros(DType::f32, {61, 30});
  for (size_t i = 0; i < 30; i++)
    for (size_t j = 0; j < 61; j++)
      bt.mutable_values<float>()[j * 30 + i] = b.values<float>()[i * 61 + j];
  BuiltNode plain("Linear", "poprt", {{a, false}, {b, true}});
  BuiltNode transposed("Linear", "poprt", {{a, false}, {bt, true}}, {{"transB", int64_t{1}}});
  EXPECT_TRUE(plain.run()[0].same_as(transposed.run()[0]));
}

TEST(MatMul, BroadcastsBatchesOfRunTimeMatrices) {
  std::mt19937 rng(4);
  const int64_t m = 13, k = 530, n = 50;
  const Tensor a = random_tensor({2, 1, m, k}, rng), b = random_tensor({3, k, n}, rng);
  for (const bool constant : {false, true}) {
    BuiltNode c("MatMul", "", {{a, false}, {b, constant}});
    const Tensor got = c.run()[0];
    ASSERT_EQ(got.shape(), (Shape{2, 3, m, n}));
    for (size_t i = 0; i < 6; i++) {
      const Reference want(a.values<float>().subspan(i / 3 * static_cast<size_t>(m * k)),
                           b.values<float>().subspan(i % 3 * static_cast<size_t>(k * n)), m, k, n);
      expect_close(
          got.values<float>().subspan(i * static_cast<size_t>(m * n), static_cast<size_t>(m * n)),
          want.value, want.magnitude);
    }
  }
}

TEST(MatMul, ConstantMatricesOfABatchArePacked) {
  std::mt19937 rng(14);
  struct Case {
    Shape a, b, y;
  };
  for (const auto& [sa, sb, sy] : std::vector<Case>{{{5, 7}, {3, 7, 50}, {3, 5, 50}},
                                                    {{1, 17, 40}, {4, 40, 97}, {4, 17, 97}},
                                                    {{4, 3, 130}, {4, 130, 48}, {4, 3, 48}},
                                                    {{2, 3, 9, 5}, {2, 3, 5, 11}, {2, 3, 9, 11}},
                                                    {{1, 3, 2, 5}, {3, 5, 11}, {1, 3, 2, 11}},
                                                    {{2, 9, 6}, {1, 6, 60}, {2, 9, 60}},
                                                    {{7}, {3, 7, 20}, {3, 20}}}) {
    SCOPED_TRACE(shape_string(sa) + shape_string(sb));
    const Tensor a = random_tensor(sa, rng), b = random_tensor(sb, rng);
    BuiltNode c("MatMul", "", {{a, false}, {b, true}});
    const Tensor got = c.run()[0];
    ASSERT_EQ(got.shape(), sy);
    const int64_t k = sa.back(), n = sb.back(), m = sa.size() == 1 ? 1 : sa[sa.size() - 2];
    const int64_t products = element_count(sy) / (m * n);
    const auto part = [&](const Tensor& t, int64_t size, int64_t i) {
      const auto count = static_cast<size_t>(size);
      return t.values<float>().subspan(t.count() == size ? 0 : static_cast<size_t>(i) * count,
                                       count);
    };
    for (int64_t i = 0; i < products; i++) {
      const Reference want(part(a, m * k, i), part(b, k * n, i), m, k, n);
      expect_close(part(got, m * n, i), want.value, want.magnitude);
    }
  }
}

TEST(MatMul, TakesVectorsOnEitherSide) {
  const Tensor v = Tensor::of<float>({3}, {1, 2, 3}),
               w = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  for (const bool constant : {false, true}) {
    const Tensor vw = BuiltNode("MatMul", "", {{v, false}, {w, constant}}).run()[0];
    EXPECT_TRUE(vw.same_as(Tensor::of<float>({2}, {22, 28})));
    const Tensor vv = BuiltNode("MatMul", "", {{v, false}, {v, constant}}).run()[0];
    EXPECT_TRUE(vv.same_as(Tensor::of<float>({}, {14})));
  }
}

TEST(MatMul, MultipliesIntegersAndDoublesExactly) {
  const Tensor a = Tensor::of<int64_t>({2, 2}, {1, -2, 3, 4}),
               b = Tensor::of<int64_t>({2, 1}, {5, int64_t{1} << 40});
  EXPECT_TRUE(
      BuiltNode("MatMul", "", {{a, false}, {b, false}})
          .run()[0]
          .same_as(Tensor::of<int64_t>({2, 1}, {5 - (int64_t{1} << 41), 15 + (int64_t{1} << 42)})));
  const Tensor d = Tensor::of<double>({1, 2}, {1e-9, 1}), e = Tensor::of<double>({2, 1}, {1, 1});
  EXPECT_TRUE(BuiltNode("MatMul", "", {{d, false}, {e, false}})
                  .run()[0]
                  .same_as(Tensor::of<double>({1, 1}, {1 + 1e-9})));
}

TEST(MatMul, RefusesShapesThatDoNotFit) {
  BuiltNode c(
      "MatMul", "",
      {{Tensor::zeros(DType::f32, {2, 3}), false}, {Tensor::zeros(DType::f32, {4, 2}), false}});
  EXPECT_THROW(c.run(), Error);
}

TEST(Gemm, EveryFormOfOperandsMatchesNaiveLoops) {
  std::mt19937 rng(5);
  const int64_t m = 9, k = 21, n = 53;
  const Tensor a = random_tensor({m, k}, rng), b = random_tensor({k, n}, rng);
  const auto transpose = [](const Tensor& t) {
    const int64_t rows = t.shape()[0], columns = t.shape()[1];
    Tensor r = Tensor::zeros(DType::f32, {columns, rows});
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < columns; j++)
        r.mutable_values<float>()[static_cast<size_t>(j * rows + i)] =
            t.values<float>()[static_cast<size_t>(i * columns + j)];
    return r;
  };
  const Reference product(a.values<float>(), b.values<float>(), m, k, n);
  const Shape c_shapes[] = {{}, {1}, {n}, {1, n}, {m, 1}, {m, n}};
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const bool constant : {false, true})
        for (const float beta : {1.0f, 0.25f})
          for (const Shape& shape : c_shapes) {
            const Tensor c = random_tensor(shape, rng);
            BuiltNode node(
                "Gemm", "",
                {{ta ? transpose(a) : a, false}, {tb ? transpose(b) : b, constant}, {c, constant}},
                {{"transA", int64_t{ta}},
                 {"transB", int64_t{tb}},
                 {"alpha", 0.5f},
                 {"beta", beta}});
            const Tensor got = node.run()[0];
            std::vector<double> want;
            for (int64_t i = 0; i < m; i++)
              for (int64_t j = 0; j < n; j++) {
                Shape s = shape;
                s.insert(s.begin(), 2 - s.size(), 1);
                const int64_t at = (s[0] == 1 ? 0 : i) * s[1] + (s[1] == 1 ? 0 : j);
                want.push_back(0.5 * product.value[static_cast<size_t>(i * n + j)] +
                               static_cast<double>(beta) *
                                   static_cast<double>(c.values<float>()[static_cast<size_t>(at)]));
              }
            SCOPED_TRACE(testing::Message() << ta << tb << constant << beta << shape_string(shape));
            expect_close(got.values<float>(), want, product.magnitude);
          }
}

}  // namespace
}  // namespace poprt::ops
