// How many inputs a node of ai.onnx has.
#pragma once

#include "ir/graph.h"

namespace poprt::ops {

// Throws invalid_argument naming the node when an input that its opset requires is missing.
void check_required_inputs(const ir::Node& node);
// Throws invalid_argument naming the node when it has more inputs than its opset knows, or leaves
// out one of a list. Of the model's own nodes: those that passes make may know better.
void check_surplus_inputs(const ir::Node& node);

}  // namespace poprt::ops
