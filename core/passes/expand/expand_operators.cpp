#include "ops/common/expansion.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::expand_operators_pass {
namespace {

void run(ir::Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](ir::Graph& g) {
    bool again = true;
    while (again) {  // what an operator expands to may itself expand
      again = false;
      for (ir::Node* n : g.nodes()) {
        const ops::OpDef* op = ops::find_op(n->domain, n->op_type, n->opset());
        if (!op || !ops::expands(*op)) continue;
        // Shapes that were not known before the nodes in front of it expanded.
        ops::infer(*n);
        if (context.allow()) again |= ops::expand_node(*n);
      }
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "expand_operators",
    .summary = "puts simpler operators in the place of those that are defined by them",
    .condition = "the operator is defined by others (docs/operators.md: decomposition)",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::expand_operators_pass
