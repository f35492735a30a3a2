// Replaces non-strict comparisons (>=, <=) by strict ones.
#pragma once

#include <string_view>

#include "passes/common/build.h"

namespace poprt::passes {

// For integers, `op_type` becomes Not of `opposite`; for other types, `strict` or Equal.
void replace_or_equal(ir::Graph& graph, PassContext& context, std::string_view op_type,
                      std::string_view strict, std::string_view opposite);

}  // namespace poprt::passes
