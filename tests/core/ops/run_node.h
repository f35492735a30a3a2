// Runs one node through inference, lowering and its kernels, on given tensors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ops/common/evaluate.h"
#include "support/uniform.h"

namespace poprt::test {

using Attributes = std::map<std::string, ir::Attribute>;

struct NodeCase {
  std::string op;
  int64_t opset = 17;
  Attributes attributes = {};
  std::vector<Tensor> inputs = {};  // an undefined tensor is an omitted input
  size_t outputs = 1;
  std::vector<size_t> runtime = {};  // inputs that inference must not see the values of
  std::string domain = "";
};

struct NodeGraph {
  ir::Graph graph;
  ir::Node* node = nullptr;
};

inline std::unique_ptr<NodeGraph> build_node(const NodeCase& c) {
  auto g = std::make_unique<NodeGraph>();
  g->graph.opsets[""] = c.opset;
  if (!c.domain.empty()) g->graph.opsets.emplace(c.domain, 1);
  std::vector<ir::Value*> values;
  for (size_t i = 0; i < c.inputs.size(); i++) {
    const Tensor& t = c.inputs[i];
    const bool runtime = std::find(c.runtime.begin(), c.runtime.end(), i) != c.runtime.end();
    const std::string name = "in" + std::to_string(i);
    if (!t.defined())
      values.push_back(nullptr);
    else if (runtime)
      values.push_back(g->graph.add_input(name, ir::ValueType::of(t.dtype(), t.shape())));
    else
      values.push_back(g->graph.add_constant(name, t));
  }
  g->node = g->graph.add_node(c.op, c.domain, values, c.outputs);
  for (const auto& [key, value] : c.attributes) g->node->attributes[key] = value;
  return g;
}

inline std::vector<Tensor> run_node(const NodeCase& c) {
  const auto g = build_node(c);
  ops::infer(*g->node);
  for (const ir::Value* v : g->node->outputs())
    EXPECT_TRUE(v->type.is_static()) << c.op << " output " << v->name();
  return ops::evaluate(*g->node, c.inputs);
}

inline ir::ValueType infer_node(const NodeCase& c, size_t output = 0) {
  const auto g = build_node(c);
  ops::infer(*g->node);
  return g->node->output(output)->type;
}

inline Tensor ints(std::vector<int64_t> values) {
  const auto n = static_cast<int64_t>(values.size());
  return Tensor::of<int64_t>({n}, std::span<const int64_t>(values));
}

// Random bytes; floats are finite (the tests that use this only move bytes).
inline Tensor random_bytes(DType dtype, Shape shape, uint32_t seed = 1) {
  Tensor t = Tensor::zeros(dtype, std::move(shape));
  std::mt19937 rng(seed);
  auto* p = static_cast<uint8_t*>(t.mutable_data());
  for (uint64_t i = 0; i < t.bytes(); i++)
    p[i] = static_cast<uint8_t>(dtype == DType::boolean ? rng() & 1 : rng() & 0x3f);
  return t;
}

// Bytes of any value.
inline Tensor any_bytes(DType dtype, Shape shape, uint32_t seed) {
  Tensor t = Tensor::zeros(dtype, std::move(shape));
  std::mt19937 rng(seed);
  auto* p = static_cast<uint8_t*>(t.mutable_data());
  for (uint64_t i = 0; i < t.bytes(); i++) p[i] = static_cast<uint8_t>(rng());
  return t;
}

inline Tensor random_floats(Shape shape, uint32_t seed = 1, float scale = 1.0f) {
  Tensor t = Tensor::zeros(DType::f32, std::move(shape));
  std::mt19937 rng(seed);
  const Uniform d{-scale, scale};
  for (float& v : t.mutable_values<float>()) v = d(rng);
  return t;
}

inline std::vector<int64_t> unravel(int64_t flat, const Shape& shape) {
  std::vector<int64_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    at[d] = flat % shape[d];
    flat /= shape[d];
  }
  return at;
}

inline int64_t ravel(const std::vector<int64_t>& at, const Shape& shape) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); d++) flat = flat * shape[d] + at[d];
  return flat;
}

// Expects that every element of `out` is the element of `in` at source(index), or `fill` (zero if
// it is undefined) where that is nullopt.
inline void expect_moved(
    const Tensor& out, const Tensor& in,
    const std::function<std::optional<std::vector<int64_t>>(const std::vector<int64_t>&)>& source,
    const Tensor& fill = {}) {
  ASSERT_EQ(out.dtype(), in.dtype());
  const auto size = static_cast<size_t>(dtype_bits(in.dtype()) / 8);
  const auto* from = static_cast<const uint8_t*>(in.data());
  const auto* got = static_cast<const uint8_t*>(out.data());
  const std::vector<uint8_t> zeros(size);
  for (int64_t i = 0; i < out.count(); i++) {
    const auto at = source(unravel(i, out.shape()));
    const uint8_t* want = at ? from + static_cast<size_t>(ravel(*at, in.shape())) * size
                          : fill.defined() ? static_cast<const uint8_t*>(fill.data())
                                           : zeros.data();
    ASSERT_EQ(std::memcmp(want, got + static_cast<size_t>(i) * size, size), 0)
        << "element " << i << " of " << shape_string(out.shape());
  }
}

// One dtype of each size.
inline const std::vector<DType> kSizes = {DType::u8, DType::f16, DType::f32, DType::s64,
                                          DType::c128};

}  // namespace poprt::test
