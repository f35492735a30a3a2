#include "passes/common/comparison.h"

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
const PassDef def = {
    .name = "replace_less_or_equal",
    .summary =
        "writes LessOrEqual as Greater and Not; of floats as Less or Equal, since a NaN is neither",
    .condition = "none",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::replace_less_or_equal_pass
