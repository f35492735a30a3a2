// The element types that a definition of ai.onnx takes, by ONNX's schemas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/dtype.h"

namespace poprt::opsets {

// Input (output) `i` of the definition of `op` that `opset` has may be of this type. True for what
// the schemas do not tell: an operator without one, a type that is not known, no tensor. For opsets
// from 11 on.
bool input_allows(std::string_view op, int64_t opset, size_t i, DType dtype);
bool output_allows(std::string_view op, int64_t opset, size_t i, DType dtype);

// Whether the schemas tell anything of the operator.
bool has_types(std::string_view op);

}  // namespace poprt::opsets
