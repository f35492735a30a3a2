// Decoding and encoding of 8-bit and 4-bit floats (ONNX's six, the IPU's two).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace poprt {

// Value of one stored code of an f8* / f4e2m1 dtype (the low bits of `code`).
float quarter_to_float(DType dtype, uint8_t code);

// Nearest code, ties to even; saturates when `saturate`, else overflow becomes infinity, or NaN
// where the format has no infinity.
// f8e8m0 as float_to_e8m0 rounding up.
uint8_t float_to_quarter(DType dtype, float value, bool saturate);

// Whole tensors of the IPU's formats (f8_143, f8_152): codes of values / 2^scale, nearest, ties to
// even, saturated, NaN for NaN; and values of codes times 2^scale. Sizes must be equal.
void encode_quarters(DType dtype, int scale, std::span<const float> values,
                     std::span<uint8_t> codes);
void decode_quarters(DType dtype, int scale, std::span<const uint8_t> codes,
                     std::span<float> values);

// One number of the IPU's formats, as often as it is asked for.
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

// `nearest` takes a tie up.
enum class PowerRounding : uint8_t { up, down, nearest };

// The f8e8m0 code of |value|, by the table of ONNX's Cast: with `saturate` what lies beyond
// [2^-127, 2^127], also 0, gets the code of the bound, else NaN (255).
uint8_t float_to_e8m0(float value, PowerRounding rounding, bool saturate);

}  // namespace poprt
