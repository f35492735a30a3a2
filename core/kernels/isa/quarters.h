// Rounding floats to 8-bit floats.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

// A format with one sign bit (the highest of a code), exponent and mantissa.
struct QuarterFormat {
  int mantissa_bits, bias;
  uint8_t most;                    // the code of the largest number; greater codes overflow
  uint8_t overflow, overflow_low;  // the codes for positive and negative overflow
  uint8_t nan, nan_low;            // the codes for NaN without and with the sign bit
  bool minus_zero;                 // the format has a negative zero
};

struct QuarterTable {
  // Rounds to nearest, ties to even.
  void (*round)(const QuarterFormat& format, const float* x, uint8_t* y, int64_t n) noexcept;
};
POPRT_DECLARE_ISA(QuarterTable, quarters)

}  // namespace poprt::kernels::isa
