// Squeeze of a Squeeze and Unsqueeze of an Unsqueeze are one.
#pragma once

#include <string_view>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// `op_type` is Squeeze or Unsqueeze.
void merge_consecutive_axes(ir::Graph& graph, PassContext& context, std::string_view op_type);

}  // namespace poprt::passes
