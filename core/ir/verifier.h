// Checks that a graph keeps the invariants every pass relies on.
#pragma once

#include "ir/graph.h"

namespace poprt::ir {

// Nesting of subgraphs that import, text and verifier accept.
inline constexpr int kMaxSubgraphDepth = 32;

// Checks `graph` and its subgraphs: nodes in topological order; producer, use and parent links
// consistent both ways; value names non-empty and unique per graph; inputs and captures from this
// graph or an ancestor, computed before they are read; graph outputs present and the graph's own
// (an output that only passes a captured value on needs an Identity); a constant's type equal to
// its tensor's; dimensions not below kUnknownDim; at most kMaxSubgraphDepth levels. Throws
// Error(internal) that names graph and node. Linear in the size of the graph.
void verify(const Graph& graph);

}  // namespace poprt::ir
