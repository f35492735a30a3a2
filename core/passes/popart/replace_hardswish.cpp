#include "passes/common/build.h"

namespace poprt::passes::replace_hardswish_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("HardSwish") || !context.allow()) return;
    Value* gate =
        insert_node(n, "HardSigmoid", "", {n.input(0)}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}})
            ->output();
    Value* result = computed(n, "Mul", {n.input(0), gate});
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_hardswish",
                     .summary = "replaces HardSwish by x * HardSigmoid(x)",
                     .condition = "none",
                     .numerics = Numerics::rounding,
                     .run = run};

}  // namespace poprt::passes::replace_hardswish_pass
