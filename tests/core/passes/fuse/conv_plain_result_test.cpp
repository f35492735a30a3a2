#include <random>

#include "core/passes/pass_case.h"
#include "support/uniform.h"

namespace poprt::test {
namespace {

// Conv(x) of these shapes, then Relu, as a graph output; the result is read `also` by another node.
std::string after(Shape x, Shape w, bool also_blocked = false) {
  ir::Graph g;
  g.opsets = {{"", 17}, {"poprt", 1}};
  std::mt19937 rng(6);
  const auto add = [&](std::string op, std::vector<ir::Value*> inputs) {
    ir::Node* n = g.add_node(std::move(op), "", inputs, 1);
    ops::infer(*n);
    return n->output();
  };
  const auto weights = [&](Shape shape) {
    Tensor t = Tensor::zeros(DType::f32, std::move(shape));
    const test::Uniform d{-1, 1};
    for (float& v : t.mutable_values<float>()) v = d(rng);
    return g.add_constant("", t);
  };
  const int64_t filters = w[0];
  auto* y = add("Relu", {add("Conv", {g.add_input("x", ir::ValueType::of(DType::f32, std::move(x))),
                                      weights(std::move(w)), weights({filters})})});
  g.add_output(y);
  if (also_blocked) g.add_output(add("GlobalAveragePool", {y}));
  return ops_after(g, {"blocked_layout", "conv_epilogue", "conv_plain_result"});
}

TEST(ConvPlainResult, FewChannelsGiveAPlainResult) {
  EXPECT_EQ(after({2, 3, 9, 70}, {20, 3, 3, 3}), "poprt.Conv");
  EXPECT_EQ(after({1, 1, 4, 129}, {70, 1, 1, 2}), "poprt.Conv");
  EXPECT_EQ(after({2, 1, 400}, {33, 1, 10}), "Reshape poprt.Conv Reshape");
  EXPECT_EQ(after({1, 2, 4, 5, 66}, {16, 2, 2, 3, 3}), "Reshape poprt.Conv Reshape");
}

TEST(ConvPlainResult, ABlockedReaderKeepsItBlocked) {
  EXPECT_NE(after({2, 3, 9, 70}, {20, 3, 3, 3}, true).find("poprt.Unblock"), std::string::npos);
}

TEST(ConvPlainResult, ManyChannelsStayBlocked) {
  EXPECT_EQ(after({2, 16, 9, 7}, {20, 16, 3, 3}), "poprt.Block poprt.Conv poprt.Unblock");
}

}  // namespace
}  // namespace poprt::test
