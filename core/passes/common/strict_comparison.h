// Replaces non-strict comparisons (>=, <=) by strict ones.
#pragma once

#include <string_view>

#include "passes/common/build.h"

namespace poprt::passes {

// Replaces `op_type` (GreaterOrEqual or LessOrEqual): for integers by Not(`opposite`), for other
// types by Or(`strict`, Equal), because Not(`opposite`) would be true for NaN.
void replace_or_equal(ir::Graph& graph, PassContext& context, std::string_view op_type,
                      std::string_view strict, std::string_view opposite);

}  // namespace poprt::passes
