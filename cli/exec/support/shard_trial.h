// Compiles a plan of poprt_exec auto_shard and measures it on the emulated IPUs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exec/support/shard_search.h"
#include "ir/graph.h"

namespace poprt::cli {

// Returns the model with attributes at its cuts, for --virtual_graph_mode manual.
std::unique_ptr<ir::Graph> cut_graph(const ir::Graph& graph,
                                     const std::vector<std::vector<std::string>>& cuts);

// Compiles a plan as a pipeline for its number of IPUs.
Candidate compile_plan(const ir::Graph& graph, const std::vector<SubGraph>& parts,
                       const Plan& plan);

// Measures `runs` asynchronous requests and sets the times of the candidate.
void measure_candidate(Candidate& candidate, int64_t runs);

// Returns nanoseconds by node name for the whole model on one IPU and one thread.
std::map<std::string, double> node_times(const ir::Graph& graph);

}  // namespace poprt::cli
