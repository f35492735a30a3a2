// ONNX's numbers of element types (TensorProto.DataType in onnx.proto). Files contain them, and so
// do attributes such as Cast's `to`. They are plain integers here because the proto classes of
// Debian's version end at 16.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace poprt {

// nullopt for UNDEFINED and unknown numbers.
std::optional<DType> dtype_from_onnx(int64_t number);

// nullopt for DType::undefined and for types that ONNX does not have (the quarter formats of the
// IPU).
std::optional<int32_t> onnx_from_dtype(DType dtype);

}  // namespace poprt
