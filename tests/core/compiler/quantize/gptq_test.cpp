#include "compiler/quantize/gptq.h"

#include <gtest/gtest.h>

#include <random>

#include "base/quarter.h"
#include "compiler/quantize/format_search.h"

namespace poprt::compiler {
namespace {

struct GptqCase {
  int64_t size, results;
  std::vector<float> rows, weights;
};

// Inputs that go together, as those of trained models do: a few causes, and noise.
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

// The mean square of what results lose, from the rows themselves.
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
