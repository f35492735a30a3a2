#include "passes/common/branches.h"
#include "passes/common/build.h"

namespace poprt::passes::merge_variant_if_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Returns the subgraph, of one node of the same graph as `n`, that contains every reader of `n`, or
// null.
Graph* branch_of_readers(const Node& n) {
  Graph* found = nullptr;
  for (const Value* v : n.outputs()) {
    if (v->graph().is_output(v)) return nullptr;
    for (const ir::Use& use : v->uses()) {
      Graph* g = &use.node->graph();
      while (g->parent && g->parent != &n.graph()) g = g->parent;
      if (g->parent != &n.graph() || (found && found != g)) return nullptr;
      found = g;
    }
  }
  return found;
}

bool is_branch_of_if(const Graph& graph, const Graph* branch) {
  for (const Node* n : graph.nodes()) {
    bool holds = false;
    ir::for_each_subgraph(*n, [&](const Graph& sub) { holds |= &sub == branch; });
    if (holds) return n->is("If");
  }
  return false;
}

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    const std::vector<Node*> nodes = g.nodes();
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      Node& n = **it;
      Graph* branch = is_pure(n) ? branch_of_readers(n) : nullptr;
      if (!branch || !is_branch_of_if(g, branch) || !context.allow()) continue;
      const std::vector<Node*> inside = branch->nodes();
      std::vector<std::string> names;
      for (const Value* v : n.outputs()) names.push_back(v->name());
      Node* moved = branch->add_node(n.op_type, n.domain, n.inputs(), n.outputs().size(),
                                     inside.empty() ? nullptr : inside.front(), names);
      moved->name = n.name;
      moved->attributes = n.attributes;
      for (size_t i = 0; i < names.size(); i++) {
        moved->output(i)->type = n.output(i)->type;
        g.replace_all_uses(n.output(i), moved->output(i));
      }
      erase_if_dead(&n);
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "merge_variant_if",
    .summary =
        "moves nodes into the branch of an If that is their only reader, so that they run only "
        "with that branch",
    .condition = "the node depends on its inputs only and is read in one branch only",
    .numerics = Numerics::exact,
    .run = run,
    .before = {"expand_if"}};

}  // namespace poprt::passes::merge_variant_if_pass
