#include <string>
#include <unordered_set>

#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;

void run(Graph& graph, PassContext& context) {
  std::unordered_set<std::string> taken;
  for_each_node(graph, [&](Node& n) {
    if (!n.name.empty() && taken.insert(n.name).second) return;
    if (!context.allow()) return;
    const std::string stem = n.name.empty() ? n.op_type : n.name;
    for (uint64_t i = 0;; i++) {
      std::string name = fmt::format("{}_{}", stem, i);
      if (!taken.insert(name).second) continue;
      n.name = std::move(name);
      break;
    }
  });
}

}  // namespace

extern const PassDef unique_name_for_nodes_pass;
const PassDef unique_name_for_nodes_pass = {.name = "unique_name_for_nodes",
                                            .summary = "gives every node a name of its own",
                                            .condition = "none",
                                            .numerics = Numerics::exact,
                                            .run = run};

}  // namespace poprt::passes
