// What a graph computes from constants alone: constant folding's view of it.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace poprt::passes {

bool has_subgraphs(const ir::Node& node);

// Whether the results of a node can be computed when its inputs are known: no larger than `largest`
// bytes.
bool can_be_computed(const ir::Node& node, uint64_t largest);

// Whether the results of a node can be computed when its inputs are known and are worth being
// constants at all: no larger than `largest` bytes, and no quantized weights widened (they stay
// quantized; the compiler widens those that no integer kernel takes).
bool can_be_constant(const ir::Node& node, uint64_t largest);

// Nodes that only constants and other such nodes feed, at any depth. Valid until the graph changes.
class ConstantCones {
 public:
  // Leaves out nodes of which a result is larger than `largest` bytes.
  ConstantCones(const ir::Graph& graph, uint64_t largest);

  // In the order of the graph.
  const std::vector<ir::Node*>& nodes() const { return nodes_; }
  bool contains(const ir::Node* node) const { return position_.contains(node); }

  // The node and those that feed it, in the order of the graph.
  std::vector<ir::Node*> of(ir::Node* node) const;

 private:
  std::vector<ir::Node*> nodes_;
  std::unordered_map<const ir::Node*, size_t> position_;
};

// The value of a constant, or of what is computed from constants alone; an undefined tensor for
// anything else, and for more than `largest` bytes on the way.
Tensor known_value(const ir::Value* value, uint64_t largest);

// What computing a cone reads (constants, each once), and takes in nanoseconds on one thread.
uint64_t bytes_read(const std::vector<ir::Node*>& cone);
double work_of(const std::vector<ir::Node*>& cone);
// The results of its last node; `known` are values that are no constants but read.
std::vector<Tensor> evaluate(const std::vector<ir::Node*>& cone,
                             std::unordered_map<const ir::Value*, Tensor> known = {});

// Bytes of all results of a node whose types are static.
uint64_t bytes_made(const ir::Node& node);

}  // namespace poprt::passes
