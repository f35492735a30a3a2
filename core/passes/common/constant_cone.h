// Finds and computes the parts of a graph that depend on constants only, for constant folding.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace poprt::passes {

bool has_subgraphs(const ir::Node& node);

// Whether the results of a node can be computed once its inputs are known, and each has at most
// `largest` bytes.
bool can_be_computed(const ir::Node& node, uint64_t largest);

// Whether results that can be computed should become constants. Widened quantized weights of more
// than 4 bytes should not: weights stay quantized until the compiler widens those that no integer
// kernel reads.
bool can_be_constant(const ir::Node& node, uint64_t largest);

// The nodes for which can_be_constant() is true and that depend on constants only, directly or
// through other such nodes. Valid until the graph changes.
class ConstantCones {
 public:
  // Nodes with a result larger than `largest` bytes are not included.
  ConstantCones(const ir::Graph& graph, uint64_t largest);

  // In graph order.
  const std::vector<ir::Node*>& nodes() const { return nodes_; }
  bool contains(const ir::Node* node) const { return position_.contains(node); }

  // Returns the node and all nodes that it depends on, in graph order. Requires contains(node).
  std::vector<ir::Node*> of(ir::Node* node) const;

 private:
  std::vector<ir::Node*> nodes_;
  std::unordered_map<const ir::Node*, size_t> position_;
};

// Returns the value of a constant, or computes it if it depends on constants only. Returns an
// undefined tensor for other values, and if can_be_computed() is false for one of the nodes.
Tensor known_value(const ir::Value* value, uint64_t largest);

// The bytes of constants that a cone reads; each constant counts once.
uint64_t bytes_read(const std::vector<ir::Node*>& cone);
// The nanoseconds that a cone takes on one thread, or 0 if they are not known.
double work_of(const std::vector<ir::Node*>& cone);
// Returns the results of the last node of the cone. `known` has the values that the cone reads and
// that are not constants.
std::vector<Tensor> evaluate(const std::vector<ir::Node*>& cone,
                             std::unordered_map<const ir::Value*, Tensor> known = {});

// Bytes of all results of a node with static types.
uint64_t bytes_made(const ir::Node& node);

}  // namespace poprt::passes
