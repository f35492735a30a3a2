// Rows of exact integer arithmetic for kernels/elementwise_generic.cpp.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

// Computes n results; operand i advances by step[i] elements (0 or 1).
using IntegerRow = void (*)(void* out, const void* const* from, const int64_t* step,
                            int64_t n) noexcept;

struct IntegerRowTable {
  // `op` is a number of kernels/common/elementwise.h, for integers of `bytes` bytes (for `where`,
  // operand 0 is bool). Null if there is no such function.
  IntegerRow (*find)(int64_t op, int bytes, bool is_signed) noexcept;
};
POPRT_DECLARE_ISA(IntegerRowTable, integer_rows)

}  // namespace poprt::kernels::isa
