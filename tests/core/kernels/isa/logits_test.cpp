// Compares the reductions over logits, on every instruction set that this CPU has, with plain loops
// in double.
#include "kernels/isa/logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/common/instruction_set.h"

namespace poprt::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kSizes[] = {1, 2, 15, 16, 17, 63, 64, 65, 100, 255, 256, 257, 1000};

std::vector<const isa::LogitsTable*> builds() {
  std::vector<const isa::LogitsTable*> all = {&isa::logits_baseline};
#if defined(POPRT_HAS_ISA_avx512)
  if (cpu_isa() >= Isa::avx2) all.push_back(&isa::logits_avx2);
  if (cpu_isa() >= Isa::avx512) all.push_back(&isa::logits_avx512);
#endif
  return all;
}

// Exact memory, so that a sanitizer notices reads after the end.
std::vector<float> random_logits(int64_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(-3.0f, 5.0f);
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = normal(rng);
  return v;
}

TEST(Logits, TheGreatestAtEveryPlaceIsFound) {
  for (const auto* table : builds())
    for (const int64_t n : kSizes)
      for (int64_t at = 0; at < n; at++) {
        auto x = random_logits(n, 1);
        x[static_cast<size_t>(at)] = 1000;
        ASSERT_EQ(table->greatest(x.data(), n), at) << n;
      }
}

TEST(Logits, TheFirstOfEqualOnesIsTheGreatest) {
  for (const auto* table : builds())
    for (const int64_t n : kSizes) {
      EXPECT_EQ(table->greatest(std::vector<float>(static_cast<size_t>(n), -kInf).data(), n), 0);
      auto x = random_logits(n, 2);
      for (const int64_t at : {n - 1, n / 2, n / 3}) {
        x[static_cast<size_t>(at)] = kInf;
        EXPECT_EQ(table->greatest(x.data(), n), at) << n;
      }
    }
}

TEST(Logits, TheFirstNanIsReported) {
  for (const auto* table : builds())
    for (const int64_t n : kSizes)
      for (int64_t at = n - 1; at >= 0; at--) {
        auto x = random_logits(n, 3);
        x[static_cast<size_t>(at)] = kNan;
        x.back() = kNan;
        ASSERT_EQ(table->greatest(x.data(), n), -1 - at) << n;
      }
}

TEST(Logits, SumsExponentials) {
  for (const auto* table : builds())
    for (const int64_t n : kSizes)
      for (const float shift : {0.0f, 200.0f, -1e30f}) {
        auto x = random_logits(n, 4);
        for (float& v : x) v = v * (shift == -1e30f ? 1e30f : 1.0f) + shift;
        const float most = *std::max_element(x.begin(), x.end());
        double wanted = 0;
        for (const float v : x) wanted += std::exp(static_cast<double>(v - most));
        EXPECT_NEAR(table->sum_of_exp(x.data(), n, most), wanted, 1e-6 * wanted) << n;
        x.back() = -kInf;
        if (n > 1) EXPECT_TRUE(std::isfinite(table->sum_of_exp(x.data(), n, most)));
      }
}

}  // namespace
}  // namespace poprt::kernels
