// What the published schemas say of an operator: the opsets that define it anew, and the attributes
// of each definition. Of ai.onnx, ai.onnx.ml, ai.onnx.preview and com.microsoft.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph.h"

namespace poprt::ir {

// The opset that brought the definition of (domain, op) which `opset` has; 0 when it is unknown.
// Two opsets with the same one define the operator alike.
int64_t definition_of(std::string_view domain, std::string_view op, int64_t opset);

// Throws invalid_argument naming the node, the attribute and those that there are when a node has
// an attribute that its operator's definition at the node's opset does not. Names that begin with
// two underscores are free, as in ONNX's checker. Says nothing of operators without a schema.
void check_attributes(const Node& node);

}  // namespace poprt::ir
