#include "passes/comparison.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  replace_or_equal(graph, context, "LessOrEqual", "Less", "Greater");
}

}  // namespace

extern const PassDef replace_less_or_equal_pass;
const PassDef replace_less_or_equal_pass = {
    .name = "replace_less_or_equal",
    .summary =
        "writes LessOrEqual as Greater and Not; of floats as Less or Equal, since a NaN is neither",
    .condition = "none",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes
