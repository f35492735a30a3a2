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
  const auto x = feeds.at("x").values<float>();
  const auto y = evaluate_graph(*graph, feeds).at("y").to_doubles();
  for (size_t i = 0; i < x.size(); i++)
    EXPECT_NEAR(y[i], -std::exp(static_cast<double>(x[i])), 1e-5);
}

}  // namespace
}  // namespace poprt::test
