#include "ops/common/expansion.h"

#include <gtest/gtest.h>

#include "core/ops/run_node.h"
#include "ir/newest.h"

namespace poprt::ops {
namespace {

Tensor floats(Shape shape, std::vector<float> values) {
  return Tensor::of<float>(std::move(shape), std::span<const float>(values));
}

TEST(Expansion, NewestOperatorsDoNotDependOnTheOpsetOfTheModel) {
  ir::Graph graph;
  graph.opsets[""] = 7;
  ir::Value* x = graph.add_input("x", ir::ValueType::of(DType::f32, {2, 3}));
  const ir::Node* n = graph.add_node("Mish", std::string(ir::kNewestDomain), {x});
  EXPECT_EQ(n->opset(), ir::kNewestOpset);
  EXPECT_EQ(&op_of(*n), find_op("", "Mish", 18));
}

// Reshape has its shape as an input from opset 5 on, and keeps sizes of 0 in the newest one.
TEST(Expansion, ReshapesByTheModelsOperatorWhereThatCan) {
  const auto domain_of = [](int64_t opset, int64_t count) {
    ir::Graph graph;
    graph.opsets = {{"", opset}, {"com.microsoft", 1}};
    ir::Value* x = graph.add_input("x", ir::ValueType::of(DType::f32, Shape(2, count)));
    ir::Node* n = graph.add_node("QLinearSoftmax", "com.microsoft", {x});
    Expansion e(*n);
    return e.reshape(x, {count * count})->producer()->domain;
  };
  EXPECT_EQ(domain_of(5, 2), "");
  EXPECT_EQ(domain_of(4, 2), ir::kNewestDomain);
  EXPECT_EQ(domain_of(21, 2), "");
  EXPECT_EQ(domain_of(21, 0), ir::kNewestDomain);
}

TEST(Expansion, ReplacesTheNodeAndKeepsResultNames) {
  ir::Graph graph;
  graph.opsets = {{"", 11}, {"com.microsoft", 1}};
  ir::Value* x = graph.add_input("x", ir::ValueType::of(DType::f32, {2, 3}));
  ir::Node* n = graph.add_node("QuickGelu", "com.microsoft", {x});
  graph.rename(n->output(), "y");
  graph.add_output(n->output());
  infer(*n);
  EXPECT_EQ(n->output()->type.shape, (Shape{2, 3}));
  ASSERT_TRUE(expand_node(*n));
  EXPECT_EQ(graph.outputs()[0]->name(), "y");
  ASSERT_EQ(graph.node_count(), 1u);
  EXPECT_TRUE(graph.nodes()[0]->is("Silu", "poprt"));
}

TEST(Expansion, AModelWithoutOnnxOperatorsGetsAnOpset) {
  ir::Graph graph;
  graph.opsets = {{"ai.onnx.ml", 3}};
  ir::Value* x = graph.add_input("x", ir::ValueType::of(DType::f32, {2, 3}));
  ir::Node* n = graph.add_node("Binarizer", "ai.onnx.ml", {x});
  graph.add_output(n->output());
  infer(*n);
  EXPECT_TRUE(expand_node(*n));
  EXPECT_TRUE(graph.opsets.contains(""));
}

TEST(Expansion, InferenceWaitsForShapesAndConstants) {
  ir::Graph graph;
  graph.opsets = {{"", 17}, {"com.microsoft", 1}};
  ir::Value* x = graph.add_input("x", ir::ValueType::of(DType::f32, {kUnknownDim, 3}));
  ir::Value* axis = graph.add_input("axis", ir::ValueType::of(DType::s32, {}));
  ir::Node* unknown_shape = graph.add_node("FastGelu", "com.microsoft", {x});
  infer(*unknown_shape);
  EXPECT_FALSE(unknown_shape->output()->type.is_static());
  ir::Value* y = graph.add_input("y", ir::ValueType::of(DType::f32, {2, 3}));
  ir::Node* unknown_axis = graph.add_node("ExpandDims", "com.microsoft", {y, axis});
  infer(*unknown_axis);
  EXPECT_FALSE(unknown_axis->output()->type.is_static());
  graph.add_output(unknown_axis->output());
  try {
    expand_node(*unknown_axis);
    FAIL() << "it should require a constant";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
    EXPECT_NE(std::string(e.what()).find("must be a constant"), std::string::npos) << e.what();
  }
}

TEST(Expansion, ResultsHaveTypesBeforeTheyAreRead) {
  ir::Graph graph;
  graph.opsets = {{"", 17}, {"com.microsoft", 1}};
  const auto input = [&](Shape shape) {
    return graph.add_input("x", ir::ValueType::of(DType::f32, std::move(shape)));
  };
  ir::Value* const inputs[] = {input({1, 3, 8}), input({8, 24}), input({24}), nullptr,
                               input({2, 1, 2, 5, 4})};
  ir::Node* n = graph.add_node("Attention", "com.microsoft", inputs, 2);
  n->attributes["num_heads"] = int64_t{2};
  infer(*n);
  EXPECT_EQ(n->output(0)->shape(), (Shape{1, 3, 8}));
  EXPECT_EQ(n->output(1)->shape(), (Shape{2, 1, 2, 8, 4}));
}

TEST(Expansion, AResultBesideOneThatIsNotComputedHasATypeBeforeItIsRead) {
  ir::Graph graph;
  graph.opsets = {{"", 17}, {"com.microsoft", 1}};
  ir::Value* x = graph.add_input("x", ir::ValueType::of(DType::f32, {2, 3}));
  ir::Value* g = graph.add_input("g", ir::ValueType::of(DType::f32, {3}));
  ir::Node* n = graph.add_node("SkipSimplifiedLayerNormalization", "com.microsoft", {x, x, g}, 4);
  infer(*n);
  EXPECT_EQ(n->output(0)->shape(), (Shape{2, 3}));
  EXPECT_FALSE(n->output(1)->type.has_shape);
  EXPECT_EQ(n->output(2)->shape(), (Shape{2, 1}));
  EXPECT_EQ(n->output(3)->shape(), (Shape{2, 3}));
}

TEST(Expansion, AResultThatIsNotComputedIsRefusedOnlyWhenItIsRead) {
  const auto run = [](size_t outputs, bool read_last) {
    ir::Graph graph;
    graph.opsets = {{"", 17}, {"com.microsoft", 1}};
    ir::Value* x = graph.add_input("x", ir::ValueType::of(DType::f32, {2, 3}));
    ir::Value* g = graph.add_input("g", ir::ValueType::of(DType::f32, {3}));
    ir::Node* n =
        graph.add_node("SkipSimplifiedLayerNormalization", "com.microsoft", {x, x, g}, outputs);
    graph.add_output(n->output(0));
    if (read_last) graph.add_output(n->output(outputs - 1));
    infer(*n);
    expand_node(*n);
  };
  EXPECT_NO_THROW(run(2, false));
  EXPECT_NO_THROW(run(3, true));      // 1 / standard deviation
  EXPECT_NO_THROW(run(4, true));      // the sum
  EXPECT_THROW(run(2, true), Error);  // the mean, which this normalisation does not have
}

TEST(Expansion, AnInputThatTheOthersNeedIsAnError) {
  const auto attention = [](const Tensor& value) {
    const Tensor x = Tensor::zeros(DType::f32, {1, 1, 8}),
                 cache = Tensor::zeros(DType::f32, {1, 2, 4, 4});
    return test::NodeCase{.op = "GroupQueryAttention",
                          .attributes = {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}},
                          .inputs = {x, x, value, cache, cache, Tensor::of<int32_t>({1}, {0}),
                                     Tensor::of<int32_t>({1}, {4})},
                          .outputs = 3,
                          .domain = "com.microsoft"};
  };
  EXPECT_EQ(test::infer_node(attention(Tensor::zeros(DType::f32, {1, 1, 8}))).shape,
            (Shape{1, 1, 8}));
  EXPECT_THROW(test::infer_node(attention(Tensor())), Error);
}

TEST(Expansion, EvaluationRunsThePieces) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  const auto y =
      test::run_node({.op = "Inverse", .inputs = {x}, .runtime = {0}, .domain = "com.microsoft"});
  const std::vector<double> want = {-2, 1, 1.5, -0.5};
  const std::vector<double> got = y[0].to_doubles();
  for (size_t i = 0; i < 4; i++) EXPECT_NEAR(got[i], want[i], 1e-6);
  // The pivot of the first column is the next row.
  const auto exchange = test::run_node({.op = "Inverse",
                                        .inputs = {floats({2, 2}, {0, 1, 1, 0})},
                                        .runtime = {0},
                                        .domain = "com.microsoft"});
  EXPECT_EQ(exchange[0].to_doubles(), (std::vector<double>{0, 1, 1, 0}));
  const auto z = test::run_node({.op = "Binarizer",
                                 .attributes = {{"threshold", 2.5f}},
                                 .inputs = {x},
                                 .runtime = {0},
                                 .domain = "ai.onnx.ml"});
  EXPECT_EQ(z[0].to_doubles(), (std::vector<double>{0, 0, 1, 1}));
}

}  // namespace
}  // namespace poprt::ops
