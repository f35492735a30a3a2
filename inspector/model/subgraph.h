// Cuts a part of a graph, so that it can be saved as a model.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "model/graph_model.h"

namespace poprt::inspector {

// A copy of the graph with only the nodes of which a result is in `results`. Values that they, or
// their branches and bodies, read from other nodes become inputs; results that other nodes or no
// nodes read, and outputs of the graph, become outputs. Weights share their bytes. Throws
// invalid_argument if no node of the graph itself (not of a branch or body) computes one of them,
// and failed_precondition, with the name, if the type of a new input or output is not known,
// because ONNX requires it.
std::unique_ptr<ir::Graph> cut_subgraph(const ir::Graph& graph,
                                        const std::set<std::string>& results);

// The names of the results of these nodes, for cut_subgraph().
std::set<std::string> results_of_nodes(const GraphModel& graph, const std::vector<int>& nodes);

}  // namespace poprt::inspector
