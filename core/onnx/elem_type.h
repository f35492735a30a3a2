// Element types and names of a file. Unlike base/onnx_dtype.h, these functions throw for unknown
// numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace poprt::onnx {

// Throws invalid_argument for UNDEFINED and unknown numbers.
DType dtype_from_elem_type(int32_t elem_type);

// Throws unimplemented for DType::undefined and for types that ONNX does not have (the quarter
// formats of the IPU).
int32_t elem_type_from_dtype(DType dtype);

// A name from a file in a form for one-line messages: quoted, with control characters escaped, and
// cut after 120 bytes.
std::string quote_name(std::string_view name);

}  // namespace poprt::onnx
