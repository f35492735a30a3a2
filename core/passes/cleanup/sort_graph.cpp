#include <unordered_set>

#include "passes/common/rewrite.h"

namespace poprt::passes::sort_graph_pass {
namespace {

using ir::Graph;

bool is_sorted(const Graph& graph) {
  std::unordered_set<const ir::Node*> seen;
  for (const ir::Node* n : graph.nodes()) {
    for (const ir::Value* v : n->inputs()) {
      const ir::Node* from = v ? v->producer() : nullptr;
      if (from && &from->graph() == &graph && !seen.contains(from)) return false;
    }
    seen.insert(n);
  }
  return true;
}

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    if (is_sorted(g) || context.allow()) g.sort();
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "sort_graph",
                     .summary = "puts nodes into topological order, subgraphs included",
                     .condition = "none",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::sort_graph_pass
