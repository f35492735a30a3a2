// Matrix products of f64 and integers without packing.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

inline constexpr int64_t kPlainRows = 4;
inline constexpr int64_t kPlainBytes = 256;  // of a row of sums

struct PlainMatmulTable {
  // sums[r][j] = sum over i < k of a[r * a_row + i * a_k] * b[i * b_k + j] for r < rows <=
  // kPlainRows and the kPlainBytes / element size columns of a block; integers wrap. The index is 0
  // (f64), 1 (32-bit integers) or 2 (64-bit integers).
  void (*block[3])(const void* a, int64_t a_row, int64_t a_k, const void* b, int64_t b_k, int64_t k,
                   int64_t rows, void* sums) noexcept;
};
POPRT_DECLARE_ISA(PlainMatmulTable, matmul_plain)

}  // namespace poprt::kernels::isa
