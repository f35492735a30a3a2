#include <string>
#include <unordered_map>
#include <unordered_set>

#include "passes/common/rewrite.h"

namespace poprt::passes::unique_name_for_nodes_pass {
namespace {

using ir::Graph;
using ir::Node;

void run(Graph& graph, PassContext& context) {
  std::unordered_set<std::string> taken;
  // The next number to try for each operator. All lower numbers are taken; without this, models
  // with tens of thousands of unnamed nodes of one operator would take quadratic time.
  std::unordered_map<std::string, uint64_t> next;
  for_each_node(graph, [&](Node& n) {
    if (!n.name.empty() && taken.insert(n.name).second) return;
    if (!context.allow()) return;
    const std::string stem = n.name.empty() ? n.op_type : n.name;
    uint64_t& number = next[stem];
    do n.name = fmt::format("{}_{}", stem, number++);
    while (!taken.insert(n.name).second);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "unique_name_for_nodes",
                     .summary = "gives every node a unique name",
                     .condition = "none",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::unique_name_for_nodes_pass
