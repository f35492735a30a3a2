// Which inputs a node of ai.onnx must have.
#pragma once

#include "ir/graph.h"

namespace poprt::ops {

// Throws invalid_argument naming the node when an input that its opset requires is missing.
void check_required_inputs(const ir::Node& node);

}  // namespace poprt::ops
