// fp32 matrix product with one packed operand. Packed B consists of panels of 48 columns, each
// [K][48]; columns after N are zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/isa_table.h"
#include "kernels/isa/epilogue.h"

namespace poprt::kernels::isa {

inline constexpr int64_t kPanel = 48;
inline constexpr int64_t kReproducibleBlock = 512;  // GemmShape::k_block of reproducible sums

struct GemmShape {
  int64_t m, n, k;
  int64_t lda, ldc, ld_residual;
  Epilogue epilogue;
  int64_t k_block;  // sums over K are computed in parts of this size, with partial sums in C
  // Whether the products of a sum are added one after the other (Call::reproducible). Otherwise
  // tiles of few rows have two or four sums for each element, and the size of a tile depends on the
  // instruction set and on the place of the row.
  bool in_order;
};

struct GemmTable {
  // The best GemmShape::k_block of many rows: the columns that a tile reads of so many rows of B
  // remain in the first-level cache while all rows of A pass. Reproducible sums use
  // kReproducibleBlock instead, because they need the same block on each instruction set.
  int64_t k_block;
  // Computes rows [row_begin, row_end) of panels [panel_begin, panel_end). `bias` has room for
  // whole panels.
  void (*run)(const GemmShape& shape, const float* a, const float* packed_b, const float* bias,
              const float* residual, float* c, int64_t row_begin, int64_t row_end,
              int64_t panel_begin, int64_t panel_end) noexcept;
  // Packs columns [column, column + 48) and rows [k_begin, k_end) of a B with element (k, n) at b[k
  // * k_stride + n * n_stride] into one part of a panel [k_end - k_begin][48].
  void (*pack)(const float* b, int64_t k_stride, int64_t n_stride, int64_t n, int64_t column,
               int64_t k_begin, int64_t k_end, float* panel) noexcept;
};
POPRT_DECLARE_ISA(GemmTable, gemm)

}  // namespace poprt::kernels::isa
