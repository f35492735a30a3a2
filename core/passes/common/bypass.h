// Helpers of the passes that remove nodes which do nothing.
#pragma once

#include <string_view>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// Returns the input that a node returns unchanged, or null if it changes it.
using Unchanged = ir::Value* (*)(const ir::Node& node);

// Makes the readers of each node that changes nothing read its input. If `op_type` is empty, all
// nodes are tried.
void bypass_unchanged(ir::Graph& graph, PassContext& context, std::string_view op_type,
                      Unchanged unchanged);

// For operators that change only the shape: returns input 0 if the shape stays the same, else null.
ir::Value* input_of_same_shape(const ir::Node& node);

}  // namespace poprt::passes
