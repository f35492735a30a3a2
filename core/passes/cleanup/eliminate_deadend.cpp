#include "ops/common/state.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::eliminate_deadend_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    const std::vector<Node*> nodes = g.nodes();
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      bool used = ops::has_state(**it);
      for (const Value* v : (*it)->outputs()) used |= is_used(v);
      if (!used && context.allow()) g.erase_node(*it);
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "eliminate_deadend",
    .summary = "removes nodes whose results are not used",
    .condition = "no output of the node has a reader, and the node has no side effect",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::eliminate_deadend_pass
