// The places where poprt_exec auto_shard may cut a model, and the size of the parts between them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::cli {

// A candidate for a cut, with the nodes that it needs and that no earlier candidate needs.
struct SubGraph {
  std::string cut;            // name of the node
  std::vector<size_t> nodes;  // positions in the graph
  uint64_t bytes = 0;         // bytes of constants that operators compute with
  double flops = 0;           // of nodes with known shapes (ops/common/flops.h)
  double nanoseconds = 0;     // measured or estimated time, or 0
};

// Returns a candidate for each node with more than one input that is not constant, or for every
// node if there is none. If these do not need all nodes, the last one is the rest of the graph.
// Names must be unique and types known.
std::vector<SubGraph> sub_graphs(const ir::Graph& graph);

// The end of the range of sub-graphs of each IPU, exclusive.
using Plan = std::vector<size_t>;
// Returns consecutive, nonempty parts whose largest sum is as small as possible. Throws Usage if
// there are fewer sub-graphs than parts.
Plan balanced(const std::vector<double>& amounts, size_t parts);

// Returns the cut points of a plan for manual_sharding, by IPU. The last IPU has none.
std::vector<std::vector<std::string>> cuts_of(const ir::Graph& graph,
                                              const std::vector<SubGraph>& parts, const Plan& plan);

// Distributes times by node name to the sub-graphs.
void set_times(const ir::Graph& graph, const std::map<std::string, double>& by_node,
               std::vector<SubGraph>& parts);

}  // namespace poprt::cli
