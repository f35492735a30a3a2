// The IPU and the pipeline stage of each node: PopART's node attributes `__ipu_number` and
// `__pipeline_stage`, which pass manual_sharding writes.
//
// Rewrites do not keep these attributes. A Placement records the seats (IPU and stage) of the nodes
// of a graph by the names of nodes and values, and assigns seats to the nodes that a rewrite
// created. A new node that computes an old value, or that has the name of an old node, gets the old
// seat. Any other node gets the seat of the last node, by stage and then by position, that computes
// one of its inputs, or else the seat of the reader with the earliest stage. A node without either
// is on IPU 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "ir/graph.h"

namespace poprt::ir {

inline constexpr std::string_view kIpuNumber = "__ipu_number";
inline constexpr std::string_view kPipelineStage = "__pipeline_stage";
inline constexpr int64_t kMostIpus = 1024;  // also the limit of stages

struct Seat {
  int64_t ipu = 0;
  int64_t stage = -1;  // -1 if the model is not pipelined
  bool operator==(const Seat&) const = default;
};

// The seat from the node's attributes; nullopt if __ipu_number is missing. Throws invalid_argument
// for numbers that are negative or too large.
std::optional<Seat> seat_of(const Node& node);
void set_seat(Node& node, const Seat& seat);

class Placement {
 public:
  Placement() = default;
  explicit Placement(const Graph& graph);

  bool empty() const { return by_value_.empty(); }
  bool pipelined() const { return pipelined_; }

  // A seat for each node of the graph, without the nodes of subgraphs: they have the seat of the
  // node that contains them. Stages never decrease along the graph: the stage of a node is not
  // before the stage of a node that it reads.
  std::unordered_map<const Node*, Seat> complete(const Graph& graph) const;
  // Sets the attributes of nodes that have none. Existing attributes do not change.
  void restore(Graph& graph) const;

 private:
  std::optional<Seat> find(const Node& node) const;

  std::unordered_map<std::string, Seat> by_value_, by_node_;
  bool pipelined_ = false;
};

// Removes the attributes, so that passes process the graph like a graph for one IPU.
void remove_placement(Graph& graph);

}  // namespace poprt::ir
