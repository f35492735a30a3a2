// Reductions of floats; see core/kernels/common/reduction.h for the kinds.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

struct ReduceTable {
  // Reduces n contiguous floats to one result.
  float (*row)(int64_t kind, const float* x, int64_t n) noexcept;
  // The same for `count` adjacent short rows.
  void (*rows)(int64_t kind, float* y, const float* x, int64_t count, int64_t n) noexcept;
  // y[r] = the place of the maximum (or minimum) of row r, the first or the last of equal elements;
  // -1 for a row with a NaN. n is below 2^24.
  void (*arg_rows)(bool smallest, bool last, int64_t* y, const float* x, int64_t count,
                   int64_t n) noexcept;
  // Reduces each of `columns` <= 64 adjacent columns of n elements, `stride` floats apart.
  void (*columns)(int64_t kind, float* y, const float* x, int64_t n, int64_t stride,
                  int64_t columns) noexcept;
  // total[j] += x[j] (or *=), y[j] = total[j], for n columns: one row of running sums.
  void (*running)(bool product, const float* x, double* total, float* y, int64_t n) noexcept;
};

POPRT_DECLARE_ISA(ReduceTable, reduce)

}  // namespace poprt::kernels::isa
