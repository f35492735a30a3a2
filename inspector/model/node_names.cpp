#include "model/node_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "ops/common/body_scope.h"

namespace poprt::inspector {
namespace {

// The innermost subgraph that contains the group, or kRoot.
int body_of(const GraphModel& graph, int group) {
  while (group != kRoot && !graph.group(group).is_subgraph) group = graph.group(group).parent;
  return group;
}

void add_nodes(const ir::Graph& graph, std::vector<ir::Node*>& nodes) {
  for (ir::Node* n : graph.nodes()) {
    nodes.push_back(n);
    ir::for_each_subgraph(*n, [&](const ir::Graph& sub) { add_nodes(sub, nodes); });
  }
}

constexpr int kSeveral = -2;

// The node that one or both of two searches found, or kSeveral if they found different ones.
int either(int a, int b) { return a == kNone || a == b ? b : b == kNone ? a : kSeveral; }

}  // namespace

std::unordered_map<const ir::Node*, std::string> unique_names(const ir::Graph& graph) {
  std::vector<ir::Node*> nodes;
  add_nodes(graph, nodes);
  std::unordered_map<std::string_view, size_t> uses, results;
  for (const ir::Node* n : nodes) {
    uses[n->name]++;
    for (const ir::Value* v : n->outputs()) results[v->name()]++;
  }
  std::unordered_map<const ir::Node*, std::string> names;
  std::unordered_set<std::string> taken;
  for (const ir::Node* n : nodes)
    if (!n->name.empty() && uses[n->name] == 1) taken.insert(names[n] = n->name);
  std::unordered_map<std::string, uint64_t> next;  // the next number to try for each name
  for (const ir::Node* n : nodes) {
    std::string& name = names[n];
    if (!name.empty()) continue;
    const std::string stem = n->output() ? n->output()->name() : n->op_type;
    if (results[stem] == 1) name = stem;
    while (name.empty() || !taken.insert(name).second)
      name = fmt::format("{}_{}", stem, ++next[stem]);
  }
  return names;
}

std::unique_ptr<ir::Graph> with_unique_names(const ir::Graph& graph) {
  auto copy = graph.clone();
  std::vector<ir::Node*> nodes;
  add_nodes(*copy, nodes);
  const auto names = unique_names(*copy);
  for (ir::Node* n : nodes) n->name = names.at(n);
  return copy;
}

NodeNames::NodeNames(const GraphModel& graph) {
  using Member = std::string GraphNode::*;
  std::map<int, size_t> scope_of = {{kRoot, 0}};
  scopes_.emplace_back();
  // An outer group has a lower number, so its scope exists already.
  for (size_t g = 1; g < graph.groups().size(); g++) {
    const GraphGroup& it = graph.groups()[g];
    if (!it.is_subgraph) continue;
    scope_of[static_cast<int>(g)] = scopes_.size();
    scopes_[scope_of.at(body_of(graph, it.parent))].inner.push_back(scopes_.size());
    scopes_.push_back({it.scope, {}, {}});
  }
  // The key of a node precedes its name, which precedes that of a result.
  for (const Member kind : {&GraphNode::key, &GraphNode::name, Member(nullptr)})
    for (size_t n = 0; n < graph.nodes().size(); n++) {
      const GraphNode& node = graph.nodes()[n];
      if (node.kind != NodeKind::op) continue;
      auto& own = scopes_[scope_of.at(body_of(graph, node.group))].nodes;
      const auto add = [&](const std::string& name) {
        own.emplace(name, static_cast<int>(n));
        all_.emplace(name, static_cast<int>(n));
      };
      if (kind)
        add(node.*kind);
      else
        for (const int v : node.outputs)
          if (v != kNone) add(graph.value(v).name);
    }
}

int NodeNames::find_in(const Scope& scope, std::string_view name) const {
  int found = kNone;
  const auto search = [&](const Scope& inner, std::string_view rest) {
    const auto own = inner.nodes.find(std::string(rest));
    found = either(found, own != inner.nodes.end() ? own->second : find_in(inner, rest));
  };
  for (const size_t i : scope.inner)
    if (const auto rest = ops::after_body_scope(name, scopes_[i].name)) search(scopes_[i], *rest);
  if (found != kNone) return found;
  // The converter and the compiler may both copy a body, and the first of them may rename it.
  if (const auto rest = ops::after_any_body_scope(name)) {
    found = find_in(scope, *rest);
    if (found == kNone)
      for (const size_t i : scope.inner) search(scopes_[i], *rest);
  }
  return found;
}

int NodeNames::find(std::string_view name) const {
  const auto& top = scopes_[0].nodes;
  if (const auto found = top.find(std::string(name)); found != top.end()) return found->second;
  if (const auto found = all_.find(std::string(name)); found != all_.end()) return found->second;
  return std::max(kNone, find_in(scopes_[0], name));
}

std::vector<double> sums_of_nodes(const GraphModel& graph,
                                  const std::vector<std::pair<std::string, double>>& values) {
  std::vector<double> sums(graph.nodes().size());
  for (const auto& [name, value] : values) {
    const int node = graph.node_of_instruction(name);
    if (node == kNone) continue;
    sums[static_cast<size_t>(node)] += value;
    for (int body = body_of(graph, graph.node(node).group); body != kRoot;
         body = body_of(graph, graph.group(body).parent))
      sums[static_cast<size_t>(graph.group(body).owner)] += value;
  }
  return sums;
}

}  // namespace poprt::inspector
