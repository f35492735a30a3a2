// Where poprt_exec auto_shard may cut a model, and how much of it lies between.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::cli {

// A candidate for a cut, with what only it and no candidate before it needs.
struct SubGraph {
  std::string cut;            // name of the node
  std::vector<size_t> nodes;  // positions in the graph
  uint64_t bytes = 0;         // of constants that operators compute with
  double flops = 0;           // of nodes whose shapes are known (ops/common/flops.h)
  double nanoseconds = 0;     // measured, when it was
};

// Nodes with more than one input that is no constant, all when there are none; the last one is the
// rest of the graph. Names are unique and types known.
std::vector<SubGraph> sub_graphs(const ir::Graph& graph);

// Of each IPU the sub-graph behind its last one.
using Plan = std::vector<size_t>;
// Consecutive parts, none empty, of which the largest is as small as possible. Throws Usage when
// there are fewer sub-graphs than parts.
Plan balanced(const std::vector<double>& amounts, size_t parts);

// The cut points that manual_sharding needs for a plan, by IPU; none for the last.
std::vector<std::vector<std::string>> cuts_of(const ir::Graph& graph,
                                              const std::vector<SubGraph>& parts, const Plan& plan);

// Shares time among the sub-graphs whose nodes have those names.
void set_times(const ir::Graph& graph, const std::map<std::string, double>& by_node,
               std::vector<SubGraph>& parts);

}  // namespace poprt::cli
