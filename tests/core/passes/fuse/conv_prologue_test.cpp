#include <random>

#include "core/passes/pass_case.h"
#include "support/uniform.h"

namespace poprt::test {
namespace {

// Conv(Relu(x * scale + shift)), blocked; `kernel` by `kernel`, with padding around it.
std::unique_ptr<ir::Graph> normalized_conv(int64_t channels, int64_t kernel, int64_t stride,
                                           bool relu_read_twice = false) {
  auto g = std::make_unique<ir::Graph>();
  g->opsets = {{"", 17}, {"poprt", 1}};
  std::mt19937 rng(4);
  const auto random = [&](Shape shape) {
    Tensor t = Tensor::zeros(DType::f32, std::move(shape));
    const test::Uniform d{-1, 1};
    for (float& v : t.mutable_values<float>()) v = d(rng);
    return g->add_constant("", t);
  };
  const auto add = [&](std::string op, std::vector<ir::Value*> inputs,
                       std::map<std::string, ir::Attribute, std::less<>> attributes = {}) {
    ir::Node* n = g->add_node(std::move(op), "", inputs, 1);
    n->attributes = std::move(attributes);
    ops::infer(*n);
    return n->output();
  };
  auto* x = g->add_input("x", ir::ValueType::of(DType::f32, {2, channels, 9, 13}));
  // Brings x into blocks, as a convolution in front would.
  g->add_output(add("Conv", {x, random({16, channels, 1, 1})}));
  auto* n = add(
      "Relu", {add("Add", {add("Mul", {x, random({channels, 1, 1})}), random({channels, 1, 1})})});
  const int64_t p = kernel / 2;
  g->add_output(add("Conv", {n, random({24, channels, kernel, kernel}), random({24})},
                    {{"pads", std::vector<int64_t>{p, p, p, p}},
                     {"strides", std::vector<int64_t>{stride, stride}}}));
  if (relu_read_twice) g->add_output(add("Neg", {n}));
  return g;
}

std::string after(ir::Graph& graph) {
  return ops_after(graph, {"blocked_layout", "conv_prologue"});
}

int64_t prologues(const ir::Graph& graph) {
  int64_t count = 0;
  for (const ir::Node* n : graph.nodes()) count += n->is("Conv", "poprt") && n->input(4);
  return count;
}

TEST(ConvPrologue, NormalisationAndReluGoIntoTheConvolution) {
  for (const int64_t kernel : {1, 3, 5}) {
    const auto g = normalized_conv(40, kernel, 2);
    EXPECT_EQ(after(*g).find("Relu"), std::string::npos) << kernel;
    EXPECT_EQ(prologues(*g), 1);
  }
  EXPECT_EQ(after(*normalized_conv(64, 1, 1)).find("Mul"), std::string::npos);
}

TEST(ConvPrologue, AValueThatOthersReadStays) {
  const auto g = normalized_conv(40, 1, 1, true);
  after(*g);
  EXPECT_EQ(prologues(*g), 0);
}

TEST(ConvPrologue, MergesAGateForEachChannelIntoTheConvolution) {
  for (const int64_t images : {1, 3}) {
    ir::Graph g;
    g.opsets = {{"", 17}, {"poprt", 1}};
    std::mt19937 rng(5);
    const auto conv = [&](ir::Value* x, int64_t from, int64_t to) {
      Tensor t = Tensor::zeros(DType::f32, {to, from, 1, 1});
      const test::Uniform d{-1, 1};
      for (float& v : t.mutable_values<float>()) v = d(rng);
      ir::Node* n = g.add_node("Conv", "", {x, g.add_constant("", t)}, 1);
      ops::infer(*n);
      return n->output();
    };
    const auto add = [&](std::string op, std::vector<ir::Value*> inputs) {
      ir::Node* n = g.add_node(std::move(op), "", inputs, 1);
      ops::infer(*n);
      return n->output();
    };
    auto* x = conv(g.add_input("x", ir::ValueType::of(DType::f32, {images, 20, 6, 7})), 20, 40);
    auto* gate = add("Sigmoid", {conv(add("GlobalAveragePool", {x}), 40, 40)});
    g.add_output(conv(add("Mul", {x, gate}), 40, 24));
    EXPECT_EQ(after(g).find("Mul"), std::string::npos);
    EXPECT_EQ(prologues(g), 1);
  }
}

TEST(ConvPrologue, WinogradStays) {
  const auto g = normalized_conv(64, 3, 1);
  after(*g);
  EXPECT_EQ(prologues(*g), 0);
}

}  // namespace
}  // namespace poprt::test
