#include "passes/common/build.h"

namespace poprt::passes::move_subgraph_initializer_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    Graph& root = root_of(g);
    if (&g == &root) return;
    for (Value* v : g.values()) {
      if (!v->is_constant() || g.is_input(v) || g.is_output(v) || v->uses().empty()) continue;
      if (!context.allow()) return;
      const std::string name = v->name();
      Value* moved = root.add_constant(name, v->constant());
      g.replace_all_uses(v, moved);
      g.erase_value(v);
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "move_subgraph_initializer",
    .summary = "moves constants of subgraphs to the main graph",
    .condition = "a node of a subgraph reads the constant, which is not an output of the subgraph",
    .run = run};

}  // namespace poprt::passes::move_subgraph_initializer_pass
