// Checks that a graph has the invariants that every pass relies on.
#pragma once

#include "ir/graph.h"

namespace poprt::ir {

// The largest nesting depth of subgraphs that import, text form and verifier accept.
inline constexpr int kMaxSubgraphDepth = 32;

// Checks `graph` and its subgraphs:
// * Nodes are in topological order.
// * Producer, use and parent links are consistent in both directions.
// * Value names are non-empty and unique in each graph.
// * Inputs and captured values belong to this graph or an ancestor, and are computed before they
//   are read.
// * Graph outputs exist and belong to the graph itself: an output that passes on a captured value
//   needs an Identity.
// * The type of a constant is equal to the type of its tensor.
// * No dimension is below kUnknownDim.
// * Subgraphs are nested at most kMaxSubgraphDepth levels deep.
// Throws Error(internal) with graph and node in the message. The run time is linear in the size of
// the graph.
void verify(const Graph& graph);

}  // namespace poprt::ir
