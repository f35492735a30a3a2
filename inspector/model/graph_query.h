// Queries on a graph: search, neighbourhood, path, colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/graph_model.h"

namespace poprt::inspector {

// Returns, in topological order, the nodes for which every word of `text` is part of the name, the
// operator, the name or the type of a value, or an attribute. A prefix limits a word to one field:
// `op:`, `name:`, `dtype:` (the whole name of a type), `attr:` ("attr:group=32"), `shape:` of any
// value, `in:` and `out:` of inputs and outputs, `weight:` of weights. In "op:conv
// weight:64x*x3x3", x matches × and * any dimension; a word with * must match the whole shape. An
// empty text matches nothing.
std::vector<int> search_nodes(const GraphModel& graph, std::string_view text);

// Returns `node` and all nodes within `distance` edges in either direction, sorted.
std::vector<int> neighbourhood(const GraphModel& graph, int node, int distance);

// Returns the shortest path along the edges including its ends. If there is none, returns a path in
// the other direction, or an empty list.
std::vector<int> path_between(const GraphModel& graph, int from, int to);

// The values that are weights and have readers, largest first.
std::vector<int> largest_weights(const GraphModel& graph, size_t most);

}  // namespace poprt::inspector
