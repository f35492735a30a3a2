#include "model/subgraph.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "model/format.h"

namespace poprt::inspector {
namespace {

bool computes(const ir::Node& node, const std::set<std::string>& results) {
  return std::any_of(node.outputs().begin(), node.outputs().end(), [&](const ir::Value* v) {
    return v && results.contains(printable(v->name()));
  });
}

// Maps a node of a branch or body to the node of the graph itself that contains it, and other nodes
// to themselves, because nodes of a branch or body may read values of the graph.
using Owners = std::unordered_map<const ir::Node*, const ir::Node*>;

// Adds `node` and the nodes inside it to `owners`, and to `inside` in their order.
void add_nested(ir::Node& node, const ir::Node& owner, Owners& owners,
                std::vector<ir::Node*>& inside) {
  owners.emplace(&node, &owner);
  inside.push_back(&node);
  ir::for_each_subgraph(node, [&](const ir::Graph& sub) {
    for (ir::Node* n : sub.nodes()) add_nested(*n, owner, owners, inside);
  });
}

void check_type(const ir::Value& value) {
  if (value.dtype() == DType::undefined)
    fail(ErrorCode::failed_precondition,
         "'{}' would be an input or output of the part, but its type is not known",
         printable(value.name()));
}

}  // namespace

std::unique_ptr<ir::Graph> cut_subgraph(const ir::Graph& graph,
                                        const std::set<std::string>& results) {
  auto part = graph.clone();
  part->name = graph.name + "_part";
  std::set<const ir::Node*> kept;
  for (ir::Node* n : part->nodes())
    if (computes(*n, results)) kept.insert(n);
  if (kept.empty())
    fail(ErrorCode::invalid_argument,
         "no node is selected that belongs to the graph itself and not to a branch or body");
  Owners owners;
  std::vector<ir::Node*> readers;  // the kept nodes and those inside them
  std::vector<ir::Node*> dropped;
  for (ir::Node* n : part->nodes())
    add_nested(*n, *n, owners, kept.contains(n) ? readers : dropped);
  const auto outputs = part->outputs();
  while (!part->outputs().empty()) part->remove_output(part->outputs().size() - 1);
  for (ir::Node* n : part->nodes()) {
    if (!kept.contains(n)) continue;
    for (ir::Value* v : n->outputs()) {
      if (!v) continue;
      const bool outside = std::any_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& use) {
        return !kept.contains(owners.at(use.node));
      });
      const bool was = std::find(outputs.begin(), outputs.end(), v) != outputs.end();
      if (!outside && !was && !v->uses().empty()) continue;
      check_type(*v);
      part->add_output(v);
    }
  }
  // Values from outside become inputs, in the order of their first reader.
  for (const ir::Node* n : readers) {
    for (ir::Value* v : std::vector<ir::Value*>(n->inputs().begin(), n->inputs().end())) {
      if (!v || !v->producer() || kept.contains(owners.at(v->producer()))) continue;
      check_type(*v);
      const std::string name = v->name();
      part->rename(v, part->fresh_name(name + "_cut"));
      ir::Value* const input = part->add_input(name, v->type);
      for (const ir::Use& use : std::vector<ir::Use>(v->uses()))
        use.node->set_input(use.input, input);
    }
  }
  const auto nodes = part->nodes();
  for (size_t i = nodes.size(); i-- > 0;)
    if (!kept.contains(nodes[i])) part->erase_node(nodes[i]);
  for (ir::Value* v : part->values()) {
    if (!v->uses().empty() || part->is_output(v) || v->producer()) continue;
    if (part->is_input(v)) part->remove_input(v);
    part->erase_value(v);
  }
  return part;
}

std::set<std::string> results_of_nodes(const GraphModel& graph, const std::vector<int>& nodes) {
  std::set<std::string> results;
  for (const int n : nodes)
    for (const int v : graph.node(n).outputs)
      if (graph.node(n).kind == NodeKind::op && v != kNone) results.insert(graph.value(v).name);
  return results;
}

}  // namespace poprt::inspector
