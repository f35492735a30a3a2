// One node on random inputs: made, inferred, lowered and run, to compare with a naive loop.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "ir/graph.h"
#include "ops/common/evaluate.h"
#include "support/uniform.h"

namespace poprt::ops {

inline Tensor random_tensor(Shape shape, std::mt19937& rng) {
  Tensor t = Tensor::zeros(DType::f32, std::move(shape));
  const test::Uniform d{-1, 1};
  for (float& v : t.mutable_values<float>()) v = d(rng);
  return t;
}

// Inputs are graph inputs or constants (second of the pair); undefined tensors are omitted inputs.
struct BuiltNode {
  BuiltNode(std::string op, std::string domain, std::vector<std::pair<Tensor, bool>> given,
            std::map<std::string, ir::Attribute, std::less<>> attributes = {}, int64_t opset = 17,
            size_t output_count = 1) {
    graph.opsets = {{"", opset}, {"poprt", 1}};
    std::vector<ir::Value*> values;
    for (auto& [tensor, constant] : given) {
      inputs.push_back(tensor);
      if (!tensor.defined())
        values.push_back(nullptr);
      else if (constant)
        values.push_back(graph.add_constant("", tensor));
      else
        values.push_back(graph.add_input("", ir::ValueType::of(tensor.dtype(), tensor.shape())));
    }
    node = graph.add_node(std::move(op), std::move(domain), values, output_count);
    node->attributes = std::move(attributes);
  }
  std::vector<Tensor> run() {
    infer(*node);
    return evaluate(*node, inputs);
  }
  ir::Graph graph;
  ir::Node* node = nullptr;
  std::vector<Tensor> inputs;
};

// |got - want| <= tolerance * magnitude + tiny, where magnitude is the sum of the absolute terms.
inline void expect_close(std::span<const float> got, std::span<const double> want,
                         std::span<const double> magnitude, double tolerance = 1e-5) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++)
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], tolerance * magnitude[i] + 1e-6)
        << "element " << i;
}

}  // namespace poprt::ops
