#include "compiler/quantize/gptq.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/quarter.h"
#include "compiler/quantize/format_search.h"

namespace poprt::compiler {
namespace {

struct GptqCase {
  int64_t size, results;
  std::vector<float> rows, weights;
};

// Correlated inputs, like those of trained models: a few common causes, and noise.
GptqCase random_case(uint32_t seed, int64_t size, int64_t results, int64_t rows) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  const int64_t causes = std::max<int64_t>(1, size / 4);
  std::vector<float> mix(static_cast<size_t>(causes * size));
  for (float& m : mix) m = normal(rng);
  GptqCase c{size, results, {}, {}};
  for (int64_t r = 0; r < rows; r++) {
    std::vector<float> row(static_cast<size_t>(size));
    for (float& x : row) x = 0.3f * normal(rng);
    for (int64_t k = 0; k < causes; k++) {
      const float cause = normal(rng);
      for (int64_t i = 0; i < size; i++)
        row[static_cast<size_t>(i)] += cause * mix[static_cast<size_t>(k * size + i)];
    }
    c.rows.insert(c.rows.end(), row.begin(), row.end());
  }
  for (int64_t i = 0; i < size * results; i++) c.weights.push_back(0.05f * normal(rng));
  return c;
}

std::vector<float> decoded(const GptqResult& result, const passes::QuarterFormat& format) {
  std::vector<float> values(result.codes.size());
  decode_quarters(format.dtype, format.scale, result.codes, values);
  return values;
}

// The mean square error of the results, computed from the rows.
double naive_loss(const GptqCase& c, const std::vector<float>& is) {
  double sum = 0;
  const auto count = static_cast<int64_t>(c.rows.size()) / c.size;
  for (int64_t r = 0; r < count; r++)
    for (int64_t n = 0; n < c.results; n++) {
      double d = 0;
      for (int64_t i = 0; i < c.size; i++) {
        const auto w = static_cast<size_t>(n * c.size + i);
        d += static_cast<double>(is[w] - c.weights[w]) *
             static_cast<double>(c.rows[static_cast<size_t>(r * c.size + i)]);
      }
      sum += d * d;
    }
  return sum / static_cast<double>(count);
}

TEST(Gptq, LosesLessThanRoundingToNearest) {
  for (const int64_t size : {1, 5, 32, 67})
    for (const DType dtype : {DType::f8_143, DType::f8_152}) {
      const GptqCase c = random_case(static_cast<uint32_t>(size), size, 9, 200);
      Gram gram(c.size);
      gram.add(c.rows);
      const passes::QuarterFormat format{dtype, dtype == DType::f8_143 ? -10 : -18};
      const GptqResult result = gptq(gram, c.weights, format);
      EXPECT_NEAR(result.before, naive_loss(c, rounded(c.weights, format)), 1e-3 * result.before);
      EXPECT_NEAR(result.after, naive_loss(c, decoded(result, format)), 1e-3 * result.before);
      if (size > 1) EXPECT_LT(result.after, 0.7 * result.before) << size;
      EXPECT_LE(result.after, result.before);
    }
}

// The loop of the paper: each column is rounded, and its error goes to the later columns by the
// inverse of the sums without the earlier columns.
std::vector<float> naive_gptq(const Gram& gram, const std::vector<float>& weights,
                              const passes::QuarterFormat& format) {
  const auto n = static_cast<size_t>(gram.size());
  std::vector<double> h(n * n), inverse(n * n);
  double mean = 0;
  for (size_t i = 0; i < n; i++) mean += static_cast<double>(gram.row(static_cast<int64_t>(i))[i]);
  mean /= static_cast<double>(n);
  for (size_t i = 0; i < n; i++)
    for (size_t j = i; j < n; j++)
      h[i * n + j] = h[j * n + i] = static_cast<double>(gram.row(static_cast<int64_t>(i))[j]);
  for (size_t i = 0; i < n; i++) {
    h[i * n + i] += 0.01 * mean;
    inverse[i * n + i] = 1;
  }
  const auto eliminate = [&](size_t row, size_t by, double f) {
    for (size_t c = 0; c < n; c++) {
      h[row * n + c] -= f * h[by * n + c];
      inverse[row * n + c] -= f * inverse[by * n + c];
    }
  };
  for (size_t k = 0; k < n; k++) {  // the matrix is positive definite
    const double pivot = h[k * n + k];
    for (size_t c = 0; c < n; c++) {
      h[k * n + c] /= pivot;
      inverse[k * n + c] /= pivot;
    }
    for (size_t r = 0; r < n; r++)
      if (r != k) eliminate(r, k, h[r * n + k]);
  }
  std::vector<double> w(weights.begin(), weights.end());
  std::vector<float> out(weights.size());
  for (size_t k = 0; k < n; k++) {
    for (size_t r = 0; r < w.size() / n; r++) {
      const float now = static_cast<float>(w[r * n + k]);
      out[r * n + k] = rounded({&now, 1}, format)[0];
      const double error =
          (w[r * n + k] - static_cast<double>(out[r * n + k])) / inverse[k * n + k];
      for (size_t j = k + 1; j < n; j++) w[r * n + j] -= error * inverse[k * n + j];
    }
    for (size_t i = k + 1; i < n; i++)  // without column k
      for (size_t j = k + 1; j < n; j++)
        inverse[i * n + j] -= inverse[i * n + k] * inverse[k * n + j] / inverse[k * n + k];
  }
  return out;
}

TEST(Gptq, IsThePapersLoop) {
  for (const int64_t size : {2, 3, 9, 17, 40}) {
    const GptqCase c = random_case(static_cast<uint32_t>(100 + size), size, 70, 150);
    Gram gram(c.size);
    gram.add(c.rows);
    const passes::QuarterFormat format{DType::f8_143, -10};
    const std::vector<float> is = decoded(gptq(gram, c.weights, format), format),
                             wanted = naive_gptq(gram, c.weights, format);
    // A weight half way between two codes may round to either, which moves the later ones.
    size_t same = 0;
    for (size_t i = 0; i < is.size(); i++) same += is[i] == wanted[i];
    EXPECT_GE(same, is.size() * 99 / 100) << size;
  }
}

TEST(Gptq, OfOneInputOrOneResultIsRoundingToo) {
  Gram gram(1);
  gram.add(std::vector<float>{1, 2, -3});
  const std::vector<float> weights = {0.3f, -0.7f, 1.1f, 0.01f};
  const GptqResult result = gptq(gram, weights, {DType::f8_143, 0});
  EXPECT_EQ(decoded(result, {DType::f8_143, 0}), rounded(weights, {DType::f8_143, 0}));
  EXPECT_EQ(result.after, result.before);
  const std::vector<float> is = rounded(weights, {DType::f8_143, 0});
  double loss = 0;  // the mean of 1, 4 and 9 times what each lost
  for (size_t i = 0; i < is.size(); i++) loss += 14.0 / 3 * std::pow(is[i] - weights[i], 2);
  EXPECT_NEAR(result.before, loss, 1e-6 * loss);
  EXPECT_EQ(output_loss(Gram(1), weights, is), 0) << "of no rows";
}

TEST(Gptq, OfInputsThatAreAlwaysZeroIsRounding) {
  Gram gram(4);
  gram.add(std::vector<float>(40));
  const std::vector<float> weights = {0.3f, -0.7f, 1.1f, 0.01f};
  const GptqResult result = gptq(gram, weights, {DType::f8_143, 0});
  EXPECT_EQ(decoded(result, {DType::f8_143, 0}), rounded(weights, {DType::f8_143, 0}));
}

TEST(Gram, SumsRowsInAnyPieces) {
  const GptqCase c = random_case(3, 13, 1, 50);
  Gram whole(c.size), parts(c.size);
  whole.add(c.rows);
  for (size_t at = 0; at < c.rows.size(); at += 13 * 7)
    parts.add(std::span(c.rows).subspan(at, std::min<size_t>(13 * 7, c.rows.size() - at)));
  EXPECT_EQ(parts.rows(), 50);
  for (int64_t i = 0; i < c.size; i++)
    for (int64_t j = i; j < c.size; j++) EXPECT_NEAR(whole.row(i)[j], parts.row(i)[j], 1e-3);
}

}  // namespace
}  // namespace poprt::compiler
