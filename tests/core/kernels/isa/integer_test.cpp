// Products of 16-bit integers of every instruction set that this CPU has: all bits are equal, also
// if sums wrap.
#include "kernels/isa/integer.h"

#include <random>
#include <vector>

#include "core/kernels/isa/conv_case.h"

namespace poprt::kernels {
namespace {

TEST(IntegerProducts, AddToExistingSums) {
  constexpr int64_t kColumns = isa::kIntegerPanel;
  std::mt19937 rng(1);
  // The numbers are differences of two bytes.
  const auto values = [&](int64_t count) {
    std::vector<int16_t> v(static_cast<size_t>(count));
    for (int16_t& x : v) x = static_cast<int16_t>(static_cast<int>(rng() % 511) - 255);
    return v;
  };
  for (const isa::IntegerTable* t : test::POPRT_BUILDS(integer))
    for (int64_t rows = 1; rows <= isa::kIntegerRows; rows++)
      for (const int64_t pairs : {0, 1, 2, 7, 40}) {
        const int64_t lda = 2 * pairs + 3;
        const auto a = values(rows * lda), panel = values(2 * pairs * kColumns);
        std::vector<int32_t> sums(static_cast<size_t>((rows + 1) * kColumns));
        for (int32_t& s : sums) s = static_cast<int32_t>(rng());
        std::vector<int32_t> want = sums;
        for (int64_t r = 0; r < rows; r++)
          for (int64_t j = 0; j < kColumns; j++)
            for (int64_t k = 0; k < 2 * pairs; k++) {
              auto& w = want[static_cast<size_t>(r * kColumns + j)];
              const int product = a[static_cast<size_t>(r * lda + k)] *
                                  panel[static_cast<size_t>((k / 2 * kColumns + j) * 2 + k % 2)];
              w = static_cast<int32_t>(static_cast<uint32_t>(w) + static_cast<uint32_t>(product));
            }
        t->multiply(a.data(), lda, rows, panel.data(), pairs, sums.data());
        ASSERT_EQ(sums, want) << rows << " rows of " << pairs << " pairs";
      }
}

}  // namespace
}  // namespace poprt::kernels
