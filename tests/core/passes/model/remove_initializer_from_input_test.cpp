#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(RemoveInitializerFromInput, AConstantIsNoInputAndKeepsItsValue) {
  const auto graph = parsed(R"(
    input %x : f32[2]
    input %w : f32[2]
    %y = Mul(%x, %w)
    output %y
  )");
  const auto original = graph->clone();
  const Tensor w = Tensor::of<float>({2}, {3, 4});
  graph->find("w")->set_constant(w);
  run(*graph, {"remove_initializer_from_input"});
  ASSERT_EQ(graph->inputs().size(), 1u);
  EXPECT_EQ(graph->inputs()[0]->name(), "x");
  EXPECT_TRUE(graph->find("w")->is_constant());
  auto feeds = random_feeds(*original);
  feeds["w"] = w;
  expect_close(evaluate_graph(*original, feeds).at("y"),
               evaluate_graph(*graph, {{"x", feeds.at("x")}}).at("y"), 0);
}

TEST(RemoveInitializerFromInput, OtherInputsStay) {
  expect_unchanged({"remove_initializer_from_input"}, R"(
    input %x : f32[2]
    const %w : f32[2] = [1.0, 2.0]
    %y = Mul(%x, %w)
    output %y
  )");
}

}  // namespace
}  // namespace poprt::test
