#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(ShapeInference, StaleTypesAreForgotten) {
  const auto graph = parsed(R"(
    input %x : f32[N,3]
    %a = Exp(%x)
    %y = Neg(%a)
    output %y
  )");
  EXPECT_EQ(ir::type_string(graph->find("y")->type), "f32[N,3]");
  graph->find("x")->type = ir::ValueType::of(DType::f32, {4, 3});
  graph->find("a")->type = ir::ValueType::of(DType::f16, {9});
  run(*graph, {"shape_inference"});
  EXPECT_EQ(ir::type_string(graph->find("a")->type), "f32[4,3]");
  EXPECT_EQ(ir::type_string(graph->find("y")->type), "f32[4,3]");
  const auto feeds = random_feeds(*graph);
  Tensor expected = Tensor::zeros(DType::f32, {4, 3});
  for (size_t i = 0; i < 12; i++)
    expected.mutable_values<float>()[i] = -std::exp(feeds.at("x").values<float>()[i]);
  expect_close(evaluate_graph(*graph, feeds).at("y"), expected, 1e-6);
}

}  // namespace
}  // namespace poprt::test
