// A plan of poprt_exec auto_shard tried: compiled, and measured on the emulated IPUs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exec/support/shard_search.h"
#include "ir/graph.h"

namespace poprt::cli {

// The model with attributes that say where it is cut, for --virtual_graph_mode manual.
std::unique_ptr<ir::Graph> cut_graph(const ir::Graph& graph,
                                     const std::vector<std::vector<std::string>>& cuts);

// The executable of a plan for as many IPUs as it has, as a pipeline.
Candidate compile_plan(const ir::Graph& graph, const std::vector<SubGraph>& parts,
                       const Plan& plan);

// Sets the times of a candidate: those of `runs` asynchronous requests.
void measure_candidate(Candidate& candidate, int64_t runs);

// Nanoseconds by name of node, of the whole model on one IPU and one thread.
std::map<std::string, double> node_times(const ir::Graph& graph);

}  // namespace poprt::cli
