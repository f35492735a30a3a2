// Rounding floats to 8-bit floats.
#pragma once

#include <cstdint>

#include "kernels/common/dispatch.h"

namespace poprt::kernels::isa {

// A format of one sign bit, exponent and mantissa. Codes are those of positive numbers.
struct QuarterFormat {
  int mantissa_bits, bias;
  uint8_t most;                    // what rounds to a greater code overflows
  uint8_t overflow, overflow_low;  // what positive and negative numbers become then
  uint8_t nan, nan_low;
  bool minus_zero;  // the format has one
};

struct QuarterTable {
  // To nearest, ties to even.
  void (*round)(const QuarterFormat& format, const float* x, uint8_t* y, int64_t n) noexcept;
};
POPRT_DECLARE_ISA(QuarterTable, quarters)

}  // namespace poprt::kernels::isa
