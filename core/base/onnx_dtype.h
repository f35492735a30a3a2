// ONNX's element type numbers (TensorProto.DataType, onnx.proto), which files hold and some
// attributes carry (Cast's `to`, EyeLike's `dtype` ...). Plain integers, because Debian's proto
// classes end at 16.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace poprt {

// nullopt for UNDEFINED and unknown numbers.
std::optional<DType> dtype_from_onnx(int64_t number);

// nullopt for types that ONNX lacks (the IPU's quarter formats).
std::optional<int32_t> onnx_from_dtype(DType dtype);

}  // namespace poprt
