// The number of inputs of a node of ai.onnx.
#pragma once

#include "ir/graph.h"

namespace poprt::ops {

// Throws invalid_argument naming the node if an input that its opset requires is missing.
void check_required_inputs(const ir::Node& node);
// Throws invalid_argument naming the node if it has more inputs than its opset defines, or omits
// one of a list. It is meant for nodes of the model; nodes created by passes may have additional
// inputs.
void check_surplus_inputs(const ir::Node& node);

}  // namespace poprt::ops
