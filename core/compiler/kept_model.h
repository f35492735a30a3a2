// The converted model that an executable contains for runners with faithful numerics.
#pragma once

#include <string>

#include "ir/graph.h"

namespace poprt::compiler {

// A converted graph as an ONNX model in its opset. Throws resource_exhausted when it is larger than
// one text of a program file may be.
std::string kept_model(const ir::Graph& converted);

}  // namespace poprt::compiler
