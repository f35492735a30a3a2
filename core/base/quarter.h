// Decoding and encoding of 8-bit and 4-bit floats: six formats of ONNX and two of the IPU.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace poprt {

// The value of one code of an f8* or f4e2m1 type (in the low bits of `code`).
float quarter_to_float(DType dtype, uint8_t code);

// The nearest code; ties go to the even one. Overflow saturates if `saturate` is set, else it
// becomes infinity, or NaN if the format has no infinity. An infinity is an overflow, as in ONNX's
// reference implementation (the table of operator Cast has NaN for the fnuz formats instead).
// f4e2m1, which has neither infinity nor NaN, always saturates, and NaN becomes 0. f8e8m0 is
// encoded as by float_to_e8m0 with rounding up.
uint8_t float_to_quarter(DType dtype, float value, bool saturate);

// Convert whole tensors from and to the IPU's formats (f8_143, f8_152). Encoding divides by 2^scale
// and rounds to the nearest code, ties to even; overflow saturates, and NaN stays NaN. Decoding
// multiplies by 2^scale. Source and target must have the same number of elements.
void encode_quarters(DType dtype, int scale, std::span<const float> values,
                     std::span<uint8_t> codes);
void decode_quarters(DType dtype, int scale, std::span<const uint8_t> codes,
                     std::span<float> values);

// Rounding of single numbers to one of the IPU's formats. The constructor prepares a table.
class QuarterRounding {
 public:
  QuarterRounding(DType dtype, int scale);
  uint8_t encode(float value) const;  // as encode_quarters
  float decode(uint8_t code) const { return values_[code]; }

 private:
  float factor_;
  uint32_t mantissa_bits_, bias_;
  std::array<float, 256> values_;
};

// `nearest` rounds a tie up.
enum class PowerRounding : uint8_t { up, down, nearest };

// The f8e8m0 code of |value|, as ONNX's Cast defines it. A value outside [2^-127, 2^127], also 0,
// gets the code of the nearer bound if `saturate` is set, else NaN (255).
uint8_t float_to_e8m0(float value, PowerRounding rounding, bool saturate);

}  // namespace poprt
