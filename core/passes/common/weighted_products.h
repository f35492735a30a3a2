// Products with constant weights, as the passes see them that narrow the weights: Conv, MatMul and
// Gemm of ai.onnx, whatever float their operands are and whether casts stand between.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::passes {

struct WeightedProduct {
  ir::Node* node = nullptr;
  ir::Value* data = nullptr;    // input 0, with a Cast from f16 looked through
  ir::Value* weight = nullptr;  // the constant, f32, f16 or bf16
  int64_t input_channels = -1;  // the axis of the weight that is summed over (Conv: the first one)
  int64_t output_axis = 0;      // and the one of the result's columns or channels
  // By what users call it: the node's name, else its result's.
  const std::string& name() const {
    return node->name.empty() ? node->output()->name() : node->name;
  }
  bool is_called(std::string_view wanted) const {
    return node->name == wanted || node->output()->name() == wanted;
  }
};

// A float constant as f32; f64 rounds.
std::vector<float> to_floats(const Tensor& tensor);

// Those of the graph and everything inside it, in order. `visit` may erase the node.
void for_each_product(ir::Graph& graph, const std::function<void(WeightedProduct&)>& visit);

}  // namespace poprt::passes
