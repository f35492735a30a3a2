// Runs a whole ir::Graph node by node through ops::evaluate: the reference that pass and compiler
// tests compare with. If is the only supported node with subgraphs. Header only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"
#include "support/uniform.h"

namespace poprt::test {

using KnownValues = std::map<const ir::Value*, Tensor>;

// Adds the values that the graph computes to `known`, which contains the inputs of the graph and
// the values of enclosing graphs.
inline void evaluate_nodes(const ir::Graph& graph, KnownValues& known) {
  for (const ir::Value* v : graph.values())
    if (v->is_constant()) known[v] = v->constant();
  for (const ir::Node* n : graph.nodes()) {
    std::vector<Tensor> inputs;
    for (const ir::Value* v : n->inputs()) {
      if (v && !known.contains(v))
        fail(ErrorCode::invalid_argument, "{}: nothing feeds '{}'", n->describe(), v->name());
      inputs.push_back(v ? known[v] : Tensor());
    }
    if (n->is("If")) {
      if (inputs[0].count() != 1)
        fail(ErrorCode::invalid_argument, "{}: the condition is no scalar", n->describe());
      const bool taken = inputs[0].to_doubles().at(0) != 0;
      const ir::Graph& branch = *std::get<std::shared_ptr<ir::Graph>>(
          n->attributes.at(taken ? "then_branch" : "else_branch"));
      evaluate_nodes(branch, known);
      for (size_t i = 0; i < n->outputs().size(); i++)
        known[n->output(i)] = known.at(branch.outputs()[i]);
      continue;
    }
    const std::vector<Tensor> results = ops::evaluate(*n, inputs);
    for (size_t i = 0; i < results.size(); i++) known[n->output(i)] = results[i];
  }
}

// Feeds by input name -> results by graph output name. All types must be static.
inline std::map<std::string, Tensor> evaluate_graph(const ir::Graph& graph,
                                                    const std::map<std::string, Tensor>& feeds) {
  KnownValues known;
  for (const ir::Value* v : graph.inputs())
    if (const auto it = feeds.find(v->name()); it != feeds.end()) known[v] = it->second;
  evaluate_nodes(graph, known);
  std::map<std::string, Tensor> out;
  for (const ir::Value* v : graph.outputs()) out[v->name()] = known.at(v);
  return out;
}

// Floats in [low, high), integers in [0, 3], bools: from the seed, the same for the same graph.
inline std::map<std::string, Tensor> random_feeds(const ir::Graph& graph, uint32_t seed = 1,
                                                  float low = -2, float high = 2) {
  std::mt19937 rng(seed);
  const Uniform real{low, high};
  std::map<std::string, Tensor> feeds;
  for (const ir::Value* v : graph.inputs()) {
    if (v->is_constant()) continue;
    Tensor t = Tensor::zeros(v->dtype(), v->shape());
    const auto fill = [&]<class T>(T) {
      for (T& x : t.mutable_values<T>()) x = static_cast<T>(rng() % 4);
    };
    switch (v->dtype()) {
      case DType::f32:
        for (float& x : t.mutable_values<float>()) x = real(rng);
        break;
      case DType::f16:
        for (f16_t& x : t.mutable_values<f16_t>()) x = to_f16(real(rng));
        break;
      case DType::s64: fill(int64_t{}); break;
      case DType::s32: fill(int32_t{}); break;
      case DType::u8: fill(uint8_t{}); break;
      case DType::s8: fill(int8_t{}); break;
      case DType::boolean:
        for (bool& x : t.mutable_values<bool>()) x = rng() & 1;
        break;
      default: fail(ErrorCode::unimplemented, "no random values of {}", dtype_name(v->dtype()));
    }
    feeds[v->name()] = t;
  }
  return feeds;
}

// |a - b| <= tolerance * max(1, largest |a|), and the same shape.
inline void expect_close(const Tensor& a, const Tensor& b, double tolerance,
                         const std::string& what = "") {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  testing::Test::RecordProperty("compared", what);  // a script counts the tests that compare
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  double largest = 1, worst = 0;
  for (size_t i = 0; i < x.size(); i++) {
    ASSERT_EQ(std::isnan(x[i]), std::isnan(y[i])) << what << " at " << i;
    if (std::isfinite(x[i])) largest = std::max(largest, std::abs(x[i]));
    if (x[i] != y[i] && !std::isnan(x[i])) worst = std::max(worst, std::abs(x[i] - y[i]));
  }
  EXPECT_LE(worst, tolerance * largest) << what;
}

// Expects that both graphs give the same results (by output name) for the same random feeds.
inline void expect_same_results(const ir::Graph& before, const ir::Graph& after,
                                double tolerance = 1e-5, uint32_t seed = 1) {
  const auto feeds = random_feeds(before, seed);
  const auto a = evaluate_graph(before, feeds), b = evaluate_graph(after, feeds);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    ASSERT_TRUE(b.contains(name)) << "no output " << name;
    expect_close(tensor, b.at(name), tolerance, name);
  }
}

}  // namespace poprt::test
