// Finds layers that a graph repeats, for graphs whose names have no scopes.
//
// A model of N equal layers is a list of nodes with a period: with the labels a, b, c for nodes of
// equal operator, attributes and shapes, "x a b c a b c a b c y" repeats "a b c" three times. Such
// a run has L + period nodes if L nodes are equal to the node one period later, so it may start at
// any of the first L % period + 1 nodes. The start with the fewest values between two layers is
// chosen, because this is where a person would cut.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace poprt::inspector {

struct SequenceNode {
  std::string label;           // equal for nodes that compute the same on other weights
  std::vector<int> producers;  // index of the node that computes each input; -1: none of these
};

struct LayerRun {
  size_t first = 0, length = 0, count = 0;  // `count` layers of `length` nodes from `first`

  bool operator==(const LayerRun&) const = default;
};

inline constexpr size_t kLeastLayer = 3;  // nodes

// Runs in order, without overlap. The largest are found first, then those in the rest.
std::vector<LayerRun> repeated_layers(const std::vector<SequenceNode>& nodes);

}  // namespace poprt::inspector
