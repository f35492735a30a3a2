#include "passes/common/strict_comparison.h"

namespace poprt::passes::replace_less_or_equal_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  replace_or_equal(graph, context, "LessOrEqual", "Less", "Greater");
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_less_or_equal",
                     .summary =
                         "replaces LessOrEqual by Greater and Not; for floats by Less or Equal, "
                         "because NaN is neither",
                     .condition = "none",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::replace_less_or_equal_pass
