// Transposes blocks of every size and step with every instruction set of this CPU: nothing is
// written outside of them.
#include "kernels/isa/transpose.h"

#include <cstring>
#include <vector>

#include "core/kernels/isa/conv_case.h"
#include "core/kernels/isa/random_bytes.h"

namespace poprt::kernels {
namespace {

void expect_right(const isa::TransposeTable& t, int log, int64_t ni, int64_t nj, int64_t gap_from,
                  int64_t gap_to) {
  const int64_t size = int64_t{1} << log, from_step = nj + gap_from, to_step = ni + gap_to;
  const auto from = random_bytes(static_cast<size_t>(ni * from_step * size), 1);
  // Addresses are odd, because memory need not be aligned.
  std::vector<uint8_t> to(static_cast<size_t>(nj * to_step * size + 1), 0x55), want = to;
  for (int64_t i = 0; i < ni; i++)
    for (int64_t j = 0; j < nj; j++)
      std::memcpy(want.data() + 1 + (j * to_step + i) * size,
                  from.data() + (i * from_step + j) * size, static_cast<size_t>(size));
  t.block[log](from.data(), from_step, to.data() + 1, to_step, ni, nj);
  ASSERT_EQ(to, want) << size << " bytes, " << ni << " x " << nj << ", gaps " << gap_from << " "
                      << gap_to;
}

TEST(Transpose, BlocksOfEverySizeAndStep) {
  for (const isa::TransposeTable* t : test::POPRT_BUILDS(transpose))
    for (int log = 0; log < 4; log++)
      for (const int64_t ni : {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 50})
        for (const int64_t nj : {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 50})
          for (const auto& [from, to] : {std::pair{0, 0}, {0, 3}, {2, 0}, {1, 5}})
            expect_right(*t, log, ni, nj, from, to);
}

}  // namespace
}  // namespace poprt::kernels
