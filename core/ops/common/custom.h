// Operators of plug-ins (plugins/registry.h) in the same form as the other operators.
#pragma once

#include <string_view>

#include "ops/op.h"
#include "plugins/registry.h"

namespace poprt::ops {

// Returns null if no plug-in defines the operator. The result is valid for the life of the process.
// The domains of plug-ins differ from those of ONNX, and are searched before the built-in ones.
const OpDef* find_custom_op(std::string_view domain, std::string_view name);

// The plug-in's description of a node's operator; nothing if the node is not of a plug-in.
plugins::OperatorRef custom_op_of(const ir::Node& node);

}  // namespace poprt::ops
