#include "ir/placement.h"

#include <algorithm>
#include <vector>

namespace poprt::ir {
namespace {

int64_t checked(const Node& node, std::string_view key) {
  const int64_t value = node.int_attr(key, 0);
  if (value < 0 || value >= kMostIpus)
    fail(ErrorCode::invalid_argument, "{}: {} is {}, expected 0 to {}", node.describe(), key, value,
         kMostIpus - 1);
  return value;
}

// Maps each subgraph, at any depth, to the node that has it as an attribute.
void find_holders(const Graph& graph, std::unordered_map<const Graph*, const Node*>& holders) {
  for (const Node* n : graph.nodes())
    for_each_subgraph(*n, [&](const Graph& sub) {
      holders[&sub] = n;
      find_holders(sub, holders);
    });
}

}  // namespace

std::optional<Seat> seat_of(const Node& node) {
  if (!node.find_attr(kIpuNumber)) return std::nullopt;
  Seat seat{checked(node, kIpuNumber), -1};
  if (node.find_attr(kPipelineStage)) seat.stage = checked(node, kPipelineStage);
  return seat;
}

void set_seat(Node& node, const Seat& seat) {
  node.attributes[std::string(kIpuNumber)] = seat.ipu;
  if (seat.stage >= 0) node.attributes[std::string(kPipelineStage)] = seat.stage;
}

Placement::Placement(const Graph& graph) {
  for (const Node* n : graph.nodes()) {
    const std::optional<Seat> seat = seat_of(*n);
    if (!seat) continue;
    pipelined_ = pipelined_ || seat->stage >= 0;
    for (const Value* v : n->outputs()) by_value_[v->name()] = *seat;
    if (n->name.empty()) continue;
    // A name is ignored if two nodes with different seats have it.
    const auto [same, added] = by_node_.emplace(n->name, *seat);
    if (!added && same->second != *seat) same->second.ipu = -1;
  }
}

std::optional<Seat> Placement::find(const Node& node) const {
  if (const auto seat = seat_of(node)) return seat;
  for (const Value* v : node.outputs())
    if (const auto found = by_value_.find(v->name()); found != by_value_.end())
      return found->second;
  if (const auto found = by_node_.find(node.name);
      found != by_node_.end() && found->second.ipu >= 0)
    return found->second;
  return std::nullopt;
}

std::unordered_map<const Node*, Seat> Placement::complete(const Graph& graph) const {
  const std::vector<Node*> nodes = graph.nodes();
  std::unordered_map<const Node*, Seat> seats;
  std::unordered_map<const Node*, size_t> position;
  std::unordered_map<const Graph*, const Node*> holders;
  find_holders(graph, holders);
  std::unordered_map<const Node*, std::vector<const Node*>> producers, readers;
  for (size_t i = 0; i < nodes.size(); i++) {
    position[nodes[i]] = i;
    for (const Value* v : nodes[i]->outputs())
      for (const Use& use : v->uses()) {
        // A node reads the values that its subgraphs read.
        const Node* reader = use.node;
        while (&reader->graph() != &graph) reader = holders.at(&reader->graph());
        producers[reader].push_back(nodes[i]);
        readers[nodes[i]].push_back(reader);
      }
  }
  for (size_t i = 0; i < nodes.size(); i++) {
    const Node* n = nodes[i];
    std::optional<Seat> seat = find(*n);
    const Node* last = nullptr;  // the latest of its producers that has a seat
    for (const Node* p : producers[n]) {
      const auto found = seats.find(p);
      if (found == seats.end()) continue;
      const auto later = [&](const Node* a, const Node* b) {
        const Seat &x = seats[a], &y = seats[b];
        return x.stage != y.stage ? x.stage > y.stage : position[a] > position[b];
      };
      if (!last || later(p, last)) last = p;
    }
    if (last && (!seat || seat->stage < seats[last].stage)) seat = seats[last];
    if (seat) seats[n] = *seat;
  }
  // A node without inputs that have a seat gets the seat of the reader with the earliest stage.
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    if (seats.contains(*it)) continue;
    std::optional<Seat> seat;
    for (const Node* reader : readers[*it])
      if (const auto found = seats.find(reader);
          found != seats.end() && (!seat || found->second.stage < seat->stage))
        seat = found->second;
    seats[*it] = seat.value_or(Seat{0, pipelined_ ? 0 : -1});
  }
  return seats;
}

void Placement::restore(Graph& graph) const {
  if (empty()) return;
  const auto seats = complete(graph);
  for (Node* n : graph.nodes())
    if (!n->find_attr(kIpuNumber)) set_seat(*n, seats.at(n));
}

void remove_placement(Graph& graph) {
  for (Node* n : graph.nodes()) {
    n->attributes.erase(std::string(kIpuNumber));
    n->attributes.erase(std::string(kPipelineStage));
  }
}

}  // namespace poprt::ir
