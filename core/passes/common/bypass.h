// What the passes share that remove nodes that do nothing.
#pragma once

#include <string_view>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// The value that a node hands on unchanged, or null.
using Unchanged = ir::Value* (*)(const ir::Node& node);

// Readers of what a node hands on read the value itself. An empty `op_type`: of any node.
void bypass_unchanged(ir::Graph& graph, PassContext& context, std::string_view op_type,
                      Unchanged unchanged);

// For operators that change nothing but the shape: input 0 when they do not.
ir::Value* input_of_same_shape(const ir::Node& node);

}  // namespace poprt::passes
