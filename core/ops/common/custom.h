// Operators of plug-ins (plugins/registry.h), as the other operators are.
#pragma once

#include <string_view>

#include "ops/op.h"
#include "plugins/registry.h"

namespace poprt::ops {

// Good for ever; null when no plug-in has it. Their domains are not ONNX's, and come before ours.
const OpDef* find_custom_op(std::string_view domain, std::string_view name);

// What is known of a node of a plug-in's operator; nothing for another node.
plugins::OperatorRef custom_op_of(const ir::Node& node);

}  // namespace poprt::ops
