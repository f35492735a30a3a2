// Decoding and encoding of 8-bit and 4-bit floats (ONNX's five, the IPU's two).
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace poprt {

// Value of one stored code of an f8* / f4e2m1 dtype (the low bits of `code`).
float quarter_to_float(DType dtype, uint8_t code);

// Nearest code, ties to even; saturates when `saturate`, else overflow becomes infinity, or NaN
// where the format has no infinity.
uint8_t float_to_quarter(DType dtype, float value, bool saturate);

}  // namespace poprt
