// Finds the nodes between the two products of an attention. The axis maps show them: Softmax
// normalises one axis, the keys, and a product with another operand, the values, sums over it.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>

#include "ir/graph.h"

namespace poprt::passes {

class AttentionScores {
 public:
  explicit AttentionScores(const ir::Graph& graph);

  // The form of the result of a node between the product of queries and keys and the product of
  // weights and values.
  struct Place {
    size_t keys = 0;          // the axis of keys
    bool is_weights = false;  // the node follows Softmax; otherwise its result contains scores
  };
  std::optional<Place> at(const ir::Node& node) const;

  // Whether input `input` of the node is a mask of keys. Its last axis must be the axis of keys. A
  // key with the number `dropped` gets weight 0 for every score; a key with the number `kept` keeps
  // its weight. If the node combines bool masks, one of the readers of its result must do this.
  bool drops_keys(const ir::Node& node, size_t input, double kept, double dropped) const;

 private:
  std::unordered_map<const ir::Node*, Place> places_;
};

}  // namespace poprt::passes
