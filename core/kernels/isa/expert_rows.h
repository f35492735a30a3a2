// Rows times the rows of a matrix, for experts whose weights are not packed.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

inline constexpr int64_t kExpertRows = 4;

struct ExpertRowsTable {
  // y[r][j] = sum over i < depth of x[r][i] * w[j * depth + i] for r < rows <= kExpertRows and j <
  // columns. The index is 0 (weights f32) or 1 (f16).
  void (*product[2])(const float* const* x, int64_t rows, const void* w, int64_t columns,
                     int64_t depth, float* const* y) noexcept;
};
POPRT_DECLARE_ISA(ExpertRowsTable, expert_rows)

}  // namespace poprt::kernels::isa
