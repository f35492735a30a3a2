// Reductions of many short rows at a time on every instruction set that this CPU has: each row has
// the same bits as a separate reduction.
#include "kernels/isa/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <vector>

#include "kernels/common/instruction_set.h"
#include "kernels/common/reduction.h"

namespace poprt::kernels {
namespace {

std::vector<const isa::ReduceTable*> builds() {
  std::vector<const isa::ReduceTable*> all = {&isa::reduce_baseline};
#if defined(POPRT_HAS_ISA_avx512)
  if (cpu_isa() >= Isa::avx2) all.push_back(&isa::reduce_avx2);
  if (cpu_isa() >= Isa::avx512) all.push_back(&isa::reduce_avx512);
#endif
  return all;
}

constexpr int64_t kSizes[] = {1, 2, 4, 7, 8, 16, 20, 64, 65, 200};

// There are few different values, so many are equal.
TEST(ReduceRows, FindTheFirstOrLastOfTheGreatest) {
  std::mt19937 rng(2);
  for (const auto* table : builds())
    for (const int64_t n : kSizes)
      for (const int64_t rows : {1, 16, 35})
        for (const bool smallest : {false, true})
          for (const bool last : {false, true}) {
            std::vector<float> x(static_cast<size_t>(rows * n));
            for (float& v : x) v = static_cast<float>(static_cast<int>(rng() % 6) - 3);
            x[x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
            x[0] = smallest ? std::numeric_limits<float>::infinity()
                            : -std::numeric_limits<float>::infinity();
            std::vector<int64_t> y(static_cast<size_t>(rows) + 1, 77);
            table->arg_rows(smallest, last, y.data(), x.data(), rows, n);
            EXPECT_EQ(y.back(), 77);
            for (int64_t r = 0; r < rows; r++) {
              int64_t wanted = 0;
              const float* row = x.data() + r * n;
              for (int64_t i = 0; i < n; i++) {
                if (row[i] != row[i]) wanted = -1;
                if (wanted < 0) break;
                const bool better = smallest ? row[i] < row[wanted] : row[i] > row[wanted];
                if (better || (last && row[i] == row[wanted])) wanted = i;
              }
              ASSERT_EQ(y[static_cast<size_t>(r)], wanted) << "row " << r << " of " << n;
            }
          }
}

TEST(ReduceRows, GiveTheResultsOfSingleRows) {
  std::mt19937 rng(1);
  for (const auto* table : builds())
    for (const int64_t n : kSizes)
      for (const int64_t rows : {1, 16, 35}) {
        std::vector<float> x(static_cast<size_t>(rows * n));
        for (float& v : x) v = 0.5f + static_cast<float>(rng() % 1000) / 1000;
        x[0] = std::numeric_limits<float>::quiet_NaN();
        for (int64_t kind = 0; kind < kReductionCount; kind++) {
          std::vector<float> y(static_cast<size_t>(rows) + 1, 77);
          table->rows(kind, y.data(), x.data(), rows, n);
          EXPECT_EQ(y.back(), 77);
          for (int64_t r = 0; r < rows; r++) {
            const float alone = table->row(kind, x.data() + r * n, n),
                        found = y[static_cast<size_t>(r)];
            ASSERT_TRUE(std::bit_cast<uint32_t>(found) == std::bit_cast<uint32_t>(alone) ||
                        (found != found && alone != alone))
                << "kind " << kind << ", row " << r << " of " << rows << " with " << n << ": "
                << found << ", alone " << alone;
          }
        }
      }
}

}  // namespace
}  // namespace poprt::kernels
