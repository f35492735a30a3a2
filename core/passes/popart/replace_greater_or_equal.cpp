#include "passes/common/strict_comparison.h"

namespace poprt::passes::replace_greater_or_equal_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  replace_or_equal(graph, context, "GreaterOrEqual", "Greater", "Less");
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_greater_or_equal",
                     .summary =
                         "replaces GreaterOrEqual by Less and Not; for floats by Greater or Equal, "
                         "because NaN is neither",
                     .condition = "none",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::replace_greater_or_equal_pass
