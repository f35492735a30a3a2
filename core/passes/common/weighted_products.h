// Finds products with constant weights (Conv, MatMul and Gemm of ai.onnx) for the passes that
// narrow weights. Weights are f32, f16 or bf16, and a Cast to f32 may be between an operand and the
// product.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::passes {

struct WeightedProduct {
  ir::Node* node = nullptr;
  ir::Value* data = nullptr;    // input 0, or the f16 or bf16 value that a Cast widens to it
  ir::Value* weight = nullptr;  // constant of f32, f16 or bf16
  int64_t input_channels = -1;  // axis of the weight that is summed over (Conv: the first one)
  int64_t output_axis = 0;      // axis of the weight that is the result's columns or channels
  // The name that users select it by: the node's name, or the name of its result.
  const std::string& name() const {
    return node->name.empty() ? node->output()->name() : node->name;
  }
  bool is_called(std::string_view wanted) const {
    return node->name == wanted || node->output()->name() == wanted;
  }
};

// Converts a float constant to f32; f64 is rounded.
std::vector<float> to_floats(const Tensor& tensor);

// Visits the products of the graph and its subgraphs in order, except those of constant data and
// Gemm with transA. `visit` may erase the node.
void for_each_product(ir::Graph& graph, const std::function<void(WeightedProduct&)>& visit);

}  // namespace poprt::passes
