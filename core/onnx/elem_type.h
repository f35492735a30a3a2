// The element types and names of a file: base/onnx_dtype.h where a number must be known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace poprt::onnx {

// Throws invalid_argument for UNDEFINED and unknown numbers.
DType dtype_from_elem_type(int32_t elem_type);

// Throws unimplemented for types that ONNX lacks (the IPU's quarter formats).
int32_t elem_type_from_dtype(DType dtype);

// A name from a file as it may stand in a one-line message: quoted, control characters escaped, cut
// after 120 bytes.
std::string quote_name(std::string_view name);

}  // namespace poprt::onnx
