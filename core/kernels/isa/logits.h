// Reductions over the logits of a vocabulary; see core/generate/sampler.cpp.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

struct LogitsTable {
  // The index of the first of the greatest of n > 0 floats. If one is NaN, the result is negative:
  // -1 - the index of the first NaN.
  int64_t (*greatest)(const float* x, int64_t n) noexcept;
  // The sum of exp(x[i] - most). `most` is finite and at least every x[i]. Floats are added in
  // blocks of 256, and the sums of the blocks are added as doubles.
  double (*sum_of_exp)(const float* x, int64_t n, float most) noexcept;
};

POPRT_DECLARE_ISA(LogitsTable, logits)

}  // namespace poprt::kernels::isa
