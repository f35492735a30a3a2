#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;

void run(Graph& graph, PassContext&) {
  for_each_graph(graph, [](Graph& g) { g.sort(); });
}

}  // namespace

extern const PassDef sort_graph_pass;
const PassDef sort_graph_pass = {.name = "sort_graph",
                                 .summary = "puts nodes into topological order, subgraphs included",
                                 .condition = "none",
                                 .numerics = Numerics::exact,
                                 .run = run};

}  // namespace poprt::passes
