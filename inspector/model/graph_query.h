// Questions to a graph: search, neighbourhood, a path, colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/graph_model.h"

namespace poprt::inspector {

// Nodes in topological order for which every word of `text` is part of the name, operator, a
// value's name or an attribute. A field before a word looks there alone: `op:`, `name:`, `dtype:`,
// `attr:` ("attr:group=32"), and `shape:` of any value, `in:`, `out:` of inputs and outputs,
// `weight:` of weights ("op:conv weight:64x*x3x3": x stands for ×, * for any dimension). An empty
// text finds nothing.
std::vector<int> search_nodes(const GraphModel& graph, std::string_view text);

// `node` and all within `distance` edges of it in either direction, sorted.
std::vector<int> neighbourhood(const GraphModel& graph, int node, int distance);

// Shortest along the edges from one to the other, ends included; backwards when there is none that
// way; empty when there is none at all.
std::vector<int> path_between(const GraphModel& graph, int from, int to);

// Nodes with weights, the largest first.
std::vector<int> largest_weights(const GraphModel& graph, size_t most);

}  // namespace poprt::inspector
