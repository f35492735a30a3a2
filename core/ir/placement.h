// Which IPU, and which stage of a pipeline, a node belongs to: PopART's node attributes
// `__ipu_number` and `__pipeline_stage`, which pass manual_sharding writes.
//
// Rewrites know nothing of them. A Placement remembers the seats of a graph by the names of values
// and nodes, and gives them to the nodes that a rewrite made: one that has the name of an old one,
// or makes its value, sits there; any other sits with what it reads, else with who reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "ir/graph.h"

namespace poprt::ir {

inline constexpr std::string_view kIpuNumber = "__ipu_number";
inline constexpr std::string_view kPipelineStage = "__pipeline_stage";
inline constexpr int64_t kMostIpus = 1024;  // and stages

struct Seat {
  int64_t ipu = 0;
  int64_t stage = -1;  // -1: the model is not pipelined
  bool operator==(const Seat&) const = default;
};

// Of the node's attributes; nullopt without __ipu_number. Throws invalid_argument for numbers that
// are negative or too large.
std::optional<Seat> seat_of(const Node& node);
void set_seat(Node& node, const Seat& seat);

class Placement {
 public:
  Placement() = default;
  explicit Placement(const Graph& graph);

  bool empty() const { return by_value_.empty(); }
  bool pipelined() const { return pipelined_; }

  // A seat for each node of the graph (not of subgraphs, which are where their node is), in an
  // order that never goes back: a node sits in no earlier stage than what it reads.
  std::unordered_map<const Node*, Seat> complete(const Graph& graph) const;
  // Gives nodes without attributes their seat.
  void restore(Graph& graph) const;

 private:
  std::optional<Seat> find(const Node& node) const;

  std::unordered_map<std::string, Seat> by_value_, by_node_;
  bool pipelined_ = false;
};

// Takes the attributes away, so that passes see the graph that one IPU would run.
void remove_placement(Graph& graph);

}  // namespace poprt::ir
