// Products of 16-bit integers that contain 8-bit integers minus their zero point. Sums have 32 bits
// and wrap, like those of ONNX; nothing saturates.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

inline constexpr int64_t kIntegerPanel = 64;  // columns
inline constexpr int64_t kIntegerRows = 4;

struct IntegerTable {
  // sums[r * kIntegerPanel + j] += sum over k of a[r * lda + k] * panel element (k, j), for r <
  // rows <= kIntegerRows and k < 2 * pairs. The panel is [pairs][kIntegerPanel][2], so (k, j) is at
  // k / 2, j, k % 2.
  void (*multiply)(const int16_t* a, int64_t lda, int64_t rows, const int16_t* panel, int64_t pairs,
                   int32_t* sums) noexcept;
};

POPRT_DECLARE_ISA(IntegerTable, integer)

}  // namespace poprt::kernels::isa
