// Where a graph has the scores of an attention, as the axis maps prove it: Softmax normalises one
// axis, the keys, and a product with another operand, the values, sums over it.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>

#include "ir/graph.h"

namespace poprt::passes {

class AttentionScores {
 public:
  explicit AttentionScores(const ir::Graph& graph);

  // Of the result of a node between the product of queries and keys and that of weights and values.
  struct Place {
    size_t keys = 0;          // the axis of keys
    bool is_weights = false;  // it follows Softmax
  };
  std::optional<Place> at(const ir::Node& node) const;

  // Whether a key has no weight, whatever its score is, exactly where input `input` of the node,
  // whose last axis is that of keys, has the number `dropped` and not `kept`. A bool result has to
  // do this in one of its readers.
  bool drops_keys(const ir::Node& node, size_t input, double kept, double dropped) const;

 private:
  std::unordered_map<const ir::Node*, Place> places_;
};

}  // namespace poprt::passes
