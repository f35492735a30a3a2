#include "model/graph_changes.h"

#include <string>
#include <unordered_map>

namespace poprt::inspector {
namespace {

const std::string& identity(const GraphModel& graph, const GraphNode& node) {
  if (!node.outputs.empty() && node.kind != NodeKind::output)
    return graph.value(node.outputs[0]).name;
  return node.name;
}

std::string key_of(const GraphModel& graph, const GraphNode& node) {
  return (node.kind == NodeKind::output ? "output " : "node ") + identity(graph, node);
}

// Describes the operator, the attributes and the values of a node. The node is changed if this text
// is.
std::string contents(const GraphModel& graph, const GraphNode& node) {
  std::string text = node.op;
  for (const int v : node.inputs)
    text += v == kNone ? "|_" : "|" + graph.value(v).name + graph.value(v).type;
  for (const int v : node.outputs)
    text += v == kNone ? "|_" : "|" + graph.value(v).name + graph.value(v).type;
  for (const auto& [key, value] : node.attributes) text += "|" + key + "=" + value;
  return text;
}

// The operators whose name no other operator of the graph has, by name.
std::unordered_map<std::string, int> nodes_by_unique_name(const GraphModel& graph) {
  std::unordered_map<std::string, int> nodes;
  for (size_t i = 0; i < graph.nodes().size(); i++) {
    if (graph.nodes()[i].kind != NodeKind::op) continue;
    const auto [at, fresh] = nodes.emplace(graph.nodes()[i].name, static_cast<int>(i));
    if (!fresh) at->second = kNone;
  }
  std::erase_if(nodes, [](const auto& n) { return n.second == kNone; });
  return nodes;
}

}  // namespace

GraphChanges changes_between(const GraphModel& before, const GraphModel& after) {
  GraphChanges changes;
  std::unordered_map<std::string, int> old, old_names;
  for (size_t i = 0; i < before.nodes().size(); i++)
    old.emplace(key_of(before, before.nodes()[i]), static_cast<int>(i));
  std::vector<bool> kept(before.nodes().size());
  changes.before.assign(after.nodes().size(), kNone);
  const auto old_unique = nodes_by_unique_name(before);
  for (const auto& [name, now] : nodes_by_unique_name(after)) {
    const auto found = old_unique.find(name);
    if (found == old_unique.end() || before.node(found->second).op != after.node(now).op) continue;
    changes.before[static_cast<size_t>(now)] = found->second;
    kept[static_cast<size_t>(found->second)] = true;
  }
  for (size_t i = 0; i < after.nodes().size(); i++) {
    if (changes.before[i] != kNone) continue;
    const auto found = old.find(key_of(after, after.nodes()[i]));
    if (found == old.end() || kept[static_cast<size_t>(found->second)]) continue;
    changes.before[i] = found->second;
    kept[static_cast<size_t>(found->second)] = true;
  }
  for (size_t i = 0; i < before.nodes().size(); i++)
    if (!kept[i]) old_names.emplace(before.nodes()[i].name, static_cast<int>(i));
  for (size_t i = 0; i < after.nodes().size(); i++) {
    const GraphNode& n = after.nodes()[i];
    int& was = changes.before[i];
    if (was == kNone)
      if (const auto found = old_names.find(n.name);
          found != old_names.end() && before.node(found->second).kind == n.kind) {
        was = found->second;
        kept[static_cast<size_t>(was)] = true;
        old_names.erase(found);
      }
    bool copied = false;
    if (was == kNone && n.kind == NodeKind::op)
      if (const int source = before.node_of_instruction(n.name);
          source != kNone && before.node(source).name != n.name) {
        was = source;
        copied = kept[static_cast<size_t>(was)];
        kept[static_cast<size_t>(was)] = true;
      }
    Change change = Change::none;
    if (was == kNone || copied) {
      change = Change::added;
      changes.added++;
    } else if (contents(before, before.node(was)) != contents(after, n)) {
      change = Change::changed;
      changes.changed++;
    }
    changes.after.push_back(change);
  }
  for (size_t i = 0; i < kept.size(); i++)
    if (!kept[i]) changes.removed.push_back(static_cast<int>(i));
  return changes;
}

}  // namespace poprt::inspector
