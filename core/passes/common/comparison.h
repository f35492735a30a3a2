// Comparisons that are not strict, in terms of strict ones.
#pragma once

#include <string_view>

#include "passes/common/build.h"

namespace poprt::passes {

// Nodes `op_type` of integers become Not of `opposite`, others `strict` or Equal.
void replace_or_equal(ir::Graph& graph, PassContext& context, std::string_view op_type,
                      std::string_view strict, std::string_view opposite);

}  // namespace poprt::passes
