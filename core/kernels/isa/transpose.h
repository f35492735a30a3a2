// Blocks of a two-dimensional transpose.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

struct TransposeTable {
  // to[j * to_step + i] = from[i * from_step + j] for i in [0, ni), j in [0, nj). Steps are in
  // elements, and memory may have any alignment. The index is log2 of the element size (1, 2, 4, 8
  // bytes).
  void (*block[4])(const void* from, int64_t from_step, void* to, int64_t to_step, int64_t ni,
                   int64_t nj);
};

POPRT_DECLARE_ISA(TransposeTable, transpose)

}  // namespace poprt::kernels::isa
