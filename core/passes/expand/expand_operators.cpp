#include "ops/common/expansion.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::expand_operators_pass {
namespace {

void run(ir::Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](ir::Graph& g) {
    bool again = true;
    while (again) {  // the nodes of an expansion may have expansions
      again = false;
      for (ir::Node* n : g.nodes()) {
        const ops::OpDef* op = ops::find_op(n->domain, n->op_type, n->opset());
        if (!op || !ops::expands(*op)) continue;
        // Expanding earlier nodes may have made shapes known.
        ops::infer(*n);
        if (context.allow()) again |= ops::expand_node(*n);
      }
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "expand_operators",
                     .summary = "replaces operators by the simpler operators that define them",
                     .condition = "the operator has a decomposition (docs/operators.md)",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::expand_operators_pass
