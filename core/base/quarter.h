// Decoding and encoding of 8-bit and 4-bit floats (ONNX's six, the IPU's two).
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace poprt {

// Value of one stored code of an f8* / f4e2m1 dtype (the low bits of `code`).
float quarter_to_float(DType dtype, uint8_t code);

// Nearest code, ties to even; saturates when `saturate`, else overflow becomes infinity, or NaN
// where the format has no infinity.
// f8e8m0 as float_to_e8m0 rounding up.
uint8_t float_to_quarter(DType dtype, float value, bool saturate);

// `nearest` takes a tie up.
enum class PowerRounding : uint8_t { up, down, nearest };

// The f8e8m0 code of |value|, by the table of ONNX's Cast: with `saturate` what lies beyond
// [2^-127, 2^127], also 0, gets the code of the bound, else NaN (255).
uint8_t float_to_e8m0(float value, PowerRounding rounding, bool saturate);

}  // namespace poprt
