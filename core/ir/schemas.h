// Facts of the published operator schemas: the opsets that change the definition of an operator,
// and the attributes of each definition. The table contains ai.onnx, ai.onnx.ml, ai.onnx.preview,
// ai.onnx.preview.training and com.microsoft.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace poprt::ir {

// The opset that introduced the definition of (domain, op) that `opset` uses; 0 if it is unknown.
// Two opsets with the same result define the operator identically.
int64_t definition_of(std::string_view domain, std::string_view op, int64_t opset);

// The oldest opset whose definition of (domain, op) has all these attributes; 1 if there is none.
int64_t first_opset_with(std::string_view domain, std::string_view op,
                         std::span<const std::string> attributes);

// Checks that the definition of a node's operator, at the node's opset, has all attributes of the
// node. Throws invalid_argument with the node, the attribute and the existing attributes in the
// message. Names that begin with two underscores are always accepted, as in ONNX's checker, and so
// are all attributes of an operator without a schema. If `ignored` is set, it receives a line about
// each attribute that has no meaning in any opset (and about consumed_inputs, which never changed a
// result); such attributes are then not errors.
void check_attributes(const Node& node,
                      const std::function<void(const std::string&)>& ignored = nullptr);

}  // namespace poprt::ir
