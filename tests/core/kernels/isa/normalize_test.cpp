// Compares softmax and the normalisations of many short rows at a time, on every instruction set
// that this CPU has, with plain loops in double.
#include "kernels/isa/normalize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/common/instruction_set.h"

namespace poprt::kernels {
namespace {

std::vector<const isa::NormalizeTable*> builds() {
  std::vector<const isa::NormalizeTable*> all = {&isa::normalize_baseline};
#if defined(POPRT_HAS_ISA_avx512)
  if (cpu_isa() >= Isa::avx2) all.push_back(&isa::normalize_avx2);
  if (cpu_isa() >= Isa::avx512) all.push_back(&isa::normalize_avx512);
#endif
  return all;
}

std::vector<float> random_floats(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.5f, 2.0f);
  std::vector<float> v(n);
  for (float& x : v) x = normal(rng);
  return v;
}

constexpr int64_t kSizes[] = {1, 3, 8, 15, 16, 17, 31, 32, 64, 100, 128};
constexpr int64_t kCounts[] = {1, 15, 16, 37};

TEST(Normalize, SoftmaxOfShortRows) {
  for (const auto* table : builds())
    for (const int64_t n : kSizes)
      for (const int64_t rows : kCounts)
        for (const bool log : {false, true})
          for (const bool in_place : {false, true}) {
            const auto x = random_floats(static_cast<size_t>(rows * n), 1);
            std::vector<float> y = x;
            y.push_back(77);
            table->softmax_rows(y.data(), in_place ? y.data() : x.data(), rows, n, log);
            EXPECT_EQ(y.back(), 77);
            for (int64_t r = 0; r < rows; r++) {
              const float* row = x.data() + r * n;
              const auto top = static_cast<double>(*std::max_element(row, row + n));
              double sum = 0;
              for (int64_t i = 0; i < n; i++) sum += std::exp(static_cast<double>(row[i]) - top);
              for (int64_t i = 0; i < n; i++) {
                const double shifted = static_cast<double>(row[i]) - top;
                ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(r * n + i)]),
                            log ? shifted - std::log(sum) : std::exp(shifted) / sum, 2e-6)
                    << "row " << r << " of " << rows << ", element " << i << " of " << n;
              }
            }
          }
}

TEST(Normalize, ShortRowsAreNormalised) {
  for (const auto* table : builds())
    for (const int64_t n : kSizes)
      for (const int64_t rows : kCounts)
        for (const bool rms : {false, true}) {
          const auto x = random_floats(static_cast<size_t>(rows * n), 2),
                     scale = random_floats(static_cast<size_t>(n), 3),
                     bias = random_floats(static_cast<size_t>(n), 4);
          std::vector<float> y(x.size() + 1, 77), means(static_cast<size_t>(rows) + 1, 77),
              inverses = means;
          table->normalize_rows(y.data(), x.data(), rows, n, scale.data(), bias.data(), 1e-5f, rms,
                                means.data(), inverses.data());
          EXPECT_EQ(y.back(), 77);
          EXPECT_EQ(means.back(), 77);
          EXPECT_EQ(inverses.back(), 77);
          for (int64_t r = 0; r < rows; r++) {
            const float* row = x.data() + r * n;
            const auto count = static_cast<double>(n);
            double mean = 0, variance = 0;
            for (int64_t i = 0; i < n && !rms; i++) mean += static_cast<double>(row[i]) / count;
            for (int64_t i = 0; i < n; i++)
              variance += std::pow(static_cast<double>(row[i]) - mean, 2) / count;
            const double inverse = 1 / std::sqrt(variance + 1e-5);
            const auto at = static_cast<size_t>(r);
            ASSERT_NEAR(static_cast<double>(means[at]), mean, 1e-5);
            ASSERT_NEAR(static_cast<double>(inverses[at]) / inverse, 1, 1e-4);
            for (int64_t i = 0; i < n; i++) {
              const auto e = static_cast<size_t>(i);
              const double wanted =
                  (static_cast<double>(row[i]) - mean) * inverse * static_cast<double>(scale[e]) +
                  static_cast<double>(bias[e]);
              ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(r * n + i)]), wanted,
                          n == 1 ? 1e-3 : 1e-4)
                  << "row " << r << " of " << rows << ", element " << i << " of " << n;
            }
          }
        }
}

// The result does not depend on whether the kernel processes rows singly or together.
TEST(Normalize, SoftmaxOfARowHasTheBitsOfSoftmaxOfRows) {
  for (const auto* table : builds())
    for (int64_t n = 1; n <= isa::kShortRow; n++)
      for (const bool log : {false, true}) {
        const auto x = random_floats(3 * n, static_cast<uint32_t>(n));
        std::vector<float> rows(x.size()), row(x.size());
        table->softmax_rows(rows.data(), x.data(), 3, n, log);
        for (int64_t r = 0; r < 3; r++)
          table->softmax_row(row.data() + r * n, x.data() + r * n, n, log);
        EXPECT_EQ(rows, row) << n << (log ? " log" : "");
      }
}

// A row has the same result, bit for bit, at any position among others.
TEST(Normalize, NeighboursOfShortRowsDoNotShow) {
  constexpr int64_t kN = 24, kRows = 40;
  const auto x = random_floats(kRows * kN, 5);
  for (const auto* table : builds()) {
    std::vector<float> all(x.size()), one(kN);
    table->softmax_rows(all.data(), x.data(), kRows, kN, false);
    for (int64_t r = 0; r < kRows; r++) {
      table->softmax_rows(one.data(), x.data() + r * kN, 1, kN, false);
      EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + r * kN)) << r;
    }
    table->normalize_rows(all.data(), x.data(), kRows, kN, nullptr, nullptr, 0, false, nullptr,
                          nullptr);
    for (int64_t r = 0; r < kRows; r++) {
      table->normalize_rows(one.data(), x.data() + r * kN, 1, kN, nullptr, nullptr, 0, false,
                            nullptr, nullptr);
      EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + r * kN)) << r;
    }
  }
}

}  // namespace
}  // namespace poprt::kernels
