// Merges Squeeze of Squeeze and Unsqueeze of Unsqueeze.
#pragma once

#include <string_view>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// `op_type` is Squeeze or Unsqueeze.
void merge_consecutive_axes(ir::Graph& graph, PassContext& context, std::string_view op_type);

}  // namespace poprt::passes
