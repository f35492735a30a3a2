// The products that can be computed on bytes, and the values of a model that become bytes with
// them, so that no value is converted to floats between products:
//
//   Conv, MatMul, Gemm             the data, which is multiplied by the weights
//   Conv -> Relu, Clip             the result, because a convolution of bytes writes bytes
//   Conv -> Add -> Relu            both operands and the result
//   MaxPool, Reshape ... of bytes  the result, with the same range
//   Concat of bytes                the result
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "passes/common/weighted_products.h"

namespace poprt::passes {

// Whether the product of f32 has a kernel for bytes (pass qdq_products) that is faster.
bool takes_bytes(const WeightedProduct& product);

// The values that become bytes with these products of the graph, in the order in which they are
// found.
class ByteValues {
 public:
  ByteValues(ir::Graph& graph, const std::vector<WeightedProduct>& products);

  const std::vector<ir::Value*>& values() const { return values_; }
  // The value whose range a value has: itself, or the value whose bytes are moved.
  const ir::Value* source(const ir::Value* v) const;

 private:
  bool has(const ir::Value* v) const { return v && known_.contains(v); }
  void add(ir::Value* v);
  void follow_sum(ir::Node& n, const std::set<const ir::Value*>& of_convolutions);
  void follow_move(ir::Node& n);

  std::vector<ir::Value*> values_;
  std::set<const ir::Value*> known_;
  std::unordered_map<const ir::Value*, const ir::Value*> sources_;
};

}  // namespace poprt::passes
