#include "compiler/static_inputs.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "ir/text.h"

namespace poprt::compiler {
namespace {

constexpr const char* kGraph = R"(graph "g" opset {"": 17} {
  input %a : f32[N,3]
  input %b : f32[N,?]
  %y : ? = Identity(%a)
  output %y
})";

std::string message_of(const Options& options) {
  const auto graph = ir::parse_text(kGraph);
  try {
    fix_shapes(*graph, options);
    require_static_inputs(*graph, options.input_shape, options.batch_size > 0);
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

TEST(FixShapes, OneSymbolFixesAllInputsThatUseIt) {
  const auto graph = ir::parse_text(kGraph);
  fix_shapes(*graph, {.input_shape = {{"b", {4, 7}}}});
  EXPECT_EQ(graph->inputs()[0]->shape(), (Shape{4, 3}));
  EXPECT_EQ(graph->inputs()[1]->shape(), (Shape{4, 7}));
}

TEST(FixShapes, BatchSizeSetsTheAxisOfEveryInput) {
  const auto graph = ir::parse_text(kGraph);
  fix_shapes(*graph, {.batch_size = 8, .batch_axis = 0});
  EXPECT_EQ(graph->inputs()[0]->shape(), (Shape{8, 3}));
  EXPECT_EQ(graph->inputs()[1]->shape()[0], 8);
}

TEST(FixShapes, NamesTheInputAndTheOptionThatFixesIt) {
  EXPECT_NE(message_of({}).find("input 'a' is f32[N,3]"), std::string::npos);
  EXPECT_NE(message_of({}).find("`input_shapes` a="), std::string::npos);
}

TEST(FixShapes, AdvisesABatchSizeIfThereIsNone) {
  EXPECT_NE(message_of({}).find("a=... or `batch_size`"), std::string::npos);
  EXPECT_EQ(message_of({.batch_size = 8, .batch_axis = 0}),
            "input 'b' is f32[8,?]: every dimension must be known at compile time; give "
            "`input_shapes` b=...");
}

TEST(FixShapes, RefusesToChangeAKnownDimension) {
  EXPECT_NE(message_of({.input_shape = {{"a", {2, 4}}}}).find("axis 1 is fixed"),
            std::string::npos);
}

TEST(FixShapes, RefusesAnotherRank) {
  EXPECT_NE(message_of({.input_shape = {{"a", {2}}}}).find("another rank"), std::string::npos);
}

TEST(FixShapes, WarnsOfAnInputThatTheModelLacksAndFixesTheOthers) {
  static std::string warnings;
  warnings.clear();
  set_log_receiver([](int32_t, const char* message) { warnings += message; });
  const auto graph = ir::parse_text(kGraph);
  fix_shapes(*graph, {.input_shape = {{"a", {2, 3}}, {"c", {2}}}});
  set_log_receiver(nullptr);
  EXPECT_EQ(graph->inputs()[0]->shape(), (Shape{2, 3}));
  EXPECT_NE(warnings.find("no input 'c'; its inputs are: a, b"), std::string::npos) << warnings;
}

TEST(FixShapes, TheErrorOfAVariableInputNamesASimilarNameThatIsNoInput) {
  const WarningFilter quiet([](const std::string&) { return false; });
  const std::string alone = message_of({});
  EXPECT_EQ(message_of({.input_shape = {{"A", {2, 3}}}}),
            alone + "; a shape is given for 'A', which is not an input");
  EXPECT_EQ(message_of({.input_shape = {{"attention", {2, 3}}}}), alone);
  EXPECT_EQ(message_of({.input_shape = {{"aa", {2, 3}}, {"b", {2, 3}}}}), "") << "they share N";
}

TEST(FixShapes, RefusesContradictingSymbols) {
  EXPECT_NE(message_of({.input_shape = {{"a", {2, 3}}, {"b", {4, 3}}}}).find("dimension 'N'"),
            std::string::npos);
}

TEST(FixShapes, RefusesBatchSizeWithoutAxis) {
  EXPECT_NE(message_of({.batch_size = 2}).find("together"), std::string::npos);
}

}  // namespace
}  // namespace poprt::compiler
