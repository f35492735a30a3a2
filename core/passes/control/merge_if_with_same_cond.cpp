#include <algorithm>

#include "passes/common/branches.h"
#include "passes/common/build.h"

namespace poprt::passes::merge_if_with_same_cond_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Whether `later` reads results of `first`, directly or through other nodes.
bool depends_on(const Node& later, const Node& first) {
  std::unordered_set<const Value*> made(first.outputs().begin(), first.outputs().end());
  bool seen = false;
  for (const Node* n : later.graph().nodes()) {
    seen |= n == &first;
    if (!seen || n == &first) continue;
    const auto read = values_read(*n);
    const bool reads = std::ranges::any_of(read, [&](const Value* v) { return made.contains(v); });
    if (n == &later) return reads;
    if (reads) made.insert(n->outputs().begin(), n->outputs().end());
  }
  return false;
}

void append(Graph& to, Graph& from) {
  for (Value* v : inline_graph(from, to, nullptr)) to.add_output(v);
}

void merge(Node& first, Node& later) {
  Graph& graph = later.graph();
  const auto then = branch_of(first, "then_branch"), other = branch_of(first, "else_branch");
  append(*then, *branch_of(later, "then_branch"));
  append(*other, *branch_of(later, "else_branch"));
  const size_t own = first.outputs().size(), more = later.outputs().size();
  Node* both = graph.add_node("If", "", {first.input(0)}, own + more, &later);
  both->name = first.name;
  first.attributes.clear();
  both->attributes["then_branch"] = then;
  both->attributes["else_branch"] = other;
  for (size_t i = 0; i < own + more; i++)
    both->output(i)->type = (i < own ? first.output(i) : later.output(i - own))->type;
  replace_outputs(later, both->outputs().subspan(own));
  replace_outputs(first, both->outputs().first(own));
  graph.sort();  // readers of the first If may precede the merged one
}

bool merge_pair(Graph& g, PassContext& context) {
  const std::vector<Node*> nodes = g.nodes();
  for (size_t i = 0; i < nodes.size(); i++)
    for (size_t k = i + 1; k < nodes.size(); k++) {
      if (!nodes[i]->is("If") || !nodes[k]->is("If") || nodes[i]->input(0) != nodes[k]->input(0) ||
          depends_on(*nodes[k], *nodes[i]))
        continue;
      if (!context.allow()) return false;
      merge(*nodes[i], *nodes[k]);
      return true;
    }
  return false;
}

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    while (merge_pair(g, context)) {
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "merge_if_with_same_cond",
    .summary = "merges Ifs with the same condition",
    .condition = "both read the same condition, and the second does not depend on the first",
    .numerics = Numerics::exact,
    .run = run,
    .before = {"expand_if"}};

}  // namespace poprt::passes::merge_if_with_same_cond_pass
