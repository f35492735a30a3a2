// What the published schemas say of an operator: the opsets that define it anew, and the attributes
// of each definition. Of ai.onnx, ai.onnx.ml, ai.onnx.preview and com.microsoft.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace poprt::ir {

// The opset that brought the definition of (domain, op) which `opset` has; 0 when it is unknown.
// Two opsets with the same one define the operator alike.
int64_t definition_of(std::string_view domain, std::string_view op, int64_t opset);

// The oldest opset whose definition of (domain, op) has all these attributes; 1 when there is none.
int64_t first_opset_with(std::string_view domain, std::string_view op,
                         std::span<const std::string> attributes);

// Throws invalid_argument naming the node, the attribute and those that there are when a node has
// an attribute that its operator's definition at the node's opset does not. Names that begin with
// two underscores are free, as in ONNX's checker. Says nothing of operators without a schema.
// With `ignored`, attributes that mean nothing in any opset (and consumed_inputs, which never
// changed a result) are told to it and are no error.
void check_attributes(const Node& node,
                      const std::function<void(const std::string&)>& ignored = nullptr);

}  // namespace poprt::ir
