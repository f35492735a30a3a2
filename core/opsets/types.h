// The element types that the definitions of ai.onnx accept, from ONNX's schemas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/dtype.h"

namespace poprt::opsets {

// Whether input (output) `i` of the definition of `op` in `opset` may be of this type. True if the
// schemas do not determine it: for an operator without a schema, an unknown type, or a value that
// is not a tensor. Only for opsets from 11 on.
bool input_allows(std::string_view op, int64_t opset, size_t i, DType dtype);
bool output_allows(std::string_view op, int64_t opset, size_t i, DType dtype);

// Whether the schemas contain the operator.
bool has_types(std::string_view op);

}  // namespace poprt::opsets
