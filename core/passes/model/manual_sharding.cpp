#include "ir/placement.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "passes/common/build.h"

namespace poprt::passes::manual_sharding_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

struct Cut {
  Node* node;
  int64_t number;  // number of the IPU or the stage
};

// Parses NODE=NUMBER entries, separated by commas or line feeds. Names may contain commas and equal
// signs, so an entry ends after its digits.
std::vector<std::pair<std::string, int64_t>> parse(std::string_view text, std::string_view what) {
  std::vector<std::pair<std::string, int64_t>> entries;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::optional<std::pair<std::string, int64_t>> entry;
    for (size_t end = 0; end < rest.size() && !entry;) {
      end = rest.find_first_of(",\n", end + 1);
      const std::string_view word = without_blanks(rest.substr(0, end));
      const size_t at = word.rfind('=');
      int64_t number = 0;
      const char* const last = word.data() + word.size();
      if (at != std::string_view::npos && at > 0) {
        const auto [stop, error] = std::from_chars(word.data() + at + 1, last, number);
        if (error == std::errc() && stop == last)
          entry.emplace(without_blanks(word.substr(0, at)), number);
      }
      if (entry || end == std::string_view::npos) {
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
        break;
      }
    }
    if (!entry)
      fail(ErrorCode::invalid_argument, "{}: expected NODE=NUMBER, found '{}'", what, text);
    if (entry->second < 0 || entry->second >= ir::kMostIpus - 1)
      fail(ErrorCode::invalid_argument, "{}: '{}' has {}, expected 0 to {}", what, entry->first,
           entry->second, ir::kMostIpus - 2);
    entries.push_back(std::move(*entry));
  }
  return entries;
}

// Returns the nodes that a text names, in graph order.
std::vector<Cut> cuts_of(Graph& graph, std::string_view text, std::string_view what) {
  std::map<const Node*, Cut> found;
  std::map<std::string_view, size_t> names;
  const std::vector<Node*> nodes = graph.nodes();
  for (const Node* n : nodes)
    if (!n->name.empty()) names[n->name]++;
  for (const auto& [name, number] : parse(text, what)) {
    Node& node = node_of(graph, name, "");
    if (names.contains(name) && names[name] > 1)
      fail(ErrorCode::invalid_argument,
           "{}: {} nodes have the name '{}', but cut points are found by name; convert the model "
           "first, or run pass unique_name_for_nodes",
           what, names[name], name);
    if (&node.graph() != &graph)
      fail(ErrorCode::invalid_argument,
           "{}: node '{}' is in a branch or loop; cut before or after the whole If or Loop", what,
           name);
    if (!found.emplace(&node, Cut{&node, number}).second)
      fail(ErrorCode::invalid_argument, "{}: node '{}' occurs twice", what, name);
  }
  std::vector<Cut> cuts;
  for (const Node* n : nodes)
    if (const auto cut = found.find(n); cut != found.end()) cuts.push_back(cut->second);
  return cuts;
}

// For each node, the indices of the nodes whose results it or its subgraphs read.
std::vector<std::vector<size_t>> producers_of(const std::vector<Node*>& nodes) {
  std::map<const Node*, size_t> position;
  for (size_t i = 0; i < nodes.size(); i++) position[nodes[i]] = i;
  std::vector<std::vector<size_t>> producers(nodes.size());
  const auto add = [&](auto&& self, size_t i, const Node& reader) -> void {
    for (const Value* v : reader.inputs())
      if (v && v->producer())
        if (const auto p = position.find(v->producer()); p != position.end())
          producers[i].push_back(p->second);
    ir::for_each_subgraph(reader, [&](const Graph& sub) {
      for (const Node* n : sub.nodes()) self(self, i, *n);
      for (const Value* v : sub.outputs())
        if (v->producer())
          if (const auto p = position.find(v->producer()); p != position.end())
            producers[i].push_back(p->second);
    });
  };
  for (size_t i = 0; i < nodes.size(); i++) add(add, i, *nodes[i]);
  return producers;
}

// Assigns each cut the unassigned nodes that it depends on. The remaining nodes get the number
// after the largest one.
void assign_numbers(Graph& graph, const std::vector<Cut>& cuts, std::string_view attribute) {
  const std::vector<Node*> nodes = graph.nodes();
  const auto producers = producers_of(nodes);
  std::vector<int64_t> number(nodes.size(), -1);
  int64_t most = -1;
  for (const Cut& cut : cuts) {
    most = std::max(most, cut.number);
    const auto at = std::ranges::find(nodes, cut.node) - nodes.begin();
    std::vector<size_t> open{static_cast<size_t>(at)};
    while (!open.empty()) {
      const size_t i = open.back();
      open.pop_back();
      if (number[i] >= 0) continue;
      number[i] = cut.number;
      open.insert(open.end(), producers[i].begin(), producers[i].end());
    }
  }
  for (size_t i = 0; i < nodes.size(); i++)
    nodes[i]->attributes[std::string(attribute)] = number[i] < 0 ? most + 1 : number[i];
}

void run(Graph& graph, PassContext& context) {
  const std::string &devices = context.text("sharding_info"),
                    &stages = context.text("pipelining_info");
  if (devices.empty() && stages.empty())
    fail(ErrorCode::invalid_argument,
         "there is no cut point: give sharding_info (NODE=DEVICE), or pipelining_info (NODE=STAGE) "
         "for a model that is sharded");
  const std::vector<Cut> by_device = cuts_of(graph, devices, "sharding_info");
  const std::vector<Cut> by_stage = cuts_of(graph, stages, "pipelining_info");
  if (devices.empty())
    for (const Node* n : graph.nodes())
      if (!n->find_attr(ir::kIpuNumber))
        fail(ErrorCode::failed_precondition,
             "pipelining_info without sharding_info requires a sharded model, but {} has no {}; "
             "give sharding_info, too",
             n->describe(), ir::kIpuNumber);
  if (!context.allow()) return;
  if (!devices.empty()) {
    ir::remove_placement(graph);
    assign_numbers(graph, by_device, ir::kIpuNumber);
  }
  if (!stages.empty()) assign_numbers(graph, by_stage, ir::kPipelineStage);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "manual_sharding",
    .summary =
        "assigns each node to an IPU and a pipeline stage by the attributes __ipu_number and "
        "__pipeline_stage: each cut point, in order, takes the unassigned nodes that it depends "
        "on; the rest goes to the next IPU and stage",
    .condition = "cut points have unique names; stages without IPUs need a sharded model",
    .numerics = Numerics::exact,
    .run = run,
    .parameters = {{"sharding_info", ParameterKind::words,
                    "NODE=DEVICE, one per line or separated by commas", ""},
                   {"pipelining_info", ParameterKind::words,
                    "NODE=STAGE, one per line or separated by commas", ""}}};

}  // namespace poprt::passes::manual_sharding_pass
