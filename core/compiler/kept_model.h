// The converted model that an executable contains for runners with faithful numerics.
#pragma once

#include <string>

#include "ir/graph.h"

namespace poprt::compiler {

// Returns a converted graph as an ONNX model in its opset. Throws resource_exhausted if it is
// larger than a text of a program file may be, and like opsets::convert_newest_nodes() and
// onnx::export_bytes().
std::string kept_model(const ir::Graph& converted);

}  // namespace poprt::compiler
