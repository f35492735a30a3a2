#include "compiler/outputs.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/text.h"
#include "support/error_code.h"

namespace poprt::compiler {
namespace {

std::unique_ptr<ir::Graph> three_outputs() {
  return ir::parse_text(R"(graph "g" opset {"": 17} {
  input %x : f32[2]
  const %c : f32[2] = [1.0, 2.0]
  %a : f32[2] = Relu(%x)
  %b : f32[2] = Add(%a, %c)
  %d : f32[2] = Neg(%b)
  output %a
  output %b
  output %d
}
)");
}

std::string names(const ir::Graph& graph) {
  std::string text;
  for (const ir::Value* v : graph.outputs()) text += v->name();
  return text;
}

TEST(SelectOutputs, KeepsNamedOutputsInOrder) {
  const auto graph = three_outputs();
  select_outputs(*graph, {});
  EXPECT_EQ(names(*graph), "abd");
  select_outputs(*graph, {"d", "a"});
  EXPECT_EQ(names(*graph), "da");
}

TEST(SelectOutputs, RefusesUnknownAndRepeatedNames) {
  const auto graph = three_outputs();
  test::expect_error([&] { select_outputs(*graph, {"a", "x"}); }, ErrorCode::not_found,
                     "there is no output 'x'; outputs are: 'a', 'b', 'd'");
  test::expect_error([&] { select_outputs(*graph, {"b", "b"}); }, ErrorCode::invalid_argument,
                     "output 'b' is given twice");
  EXPECT_EQ(names(*graph), "abd") << "a refused list changes nothing";
}

TEST(ChangeOutputs, RemovesOutputsAndAddsCheckpoints) {
  auto graph = three_outputs();
  change_outputs(*graph, {"a", "d"}, {});
  EXPECT_EQ(names(*graph), "b");
  change_outputs(*graph, {}, {"d", "b"});
  EXPECT_EQ(names(*graph), "bd") << "an output that is a checkpoint stays where it is";
}

TEST(ChangeOutputs, CheckpointsMayReplaceAllOutputs) {
  auto graph = three_outputs();
  select_outputs(*graph, {"d"});
  change_outputs(*graph, {"d"}, {"a"});
  EXPECT_EQ(names(*graph), "a");
  change_outputs(*graph, {"a"}, {"a"});
  EXPECT_EQ(names(*graph), "a");
  test::expect_error([&] { change_outputs(*graph, {"a"}, {"nowhere"}); }, ErrorCode::not_found,
                     "`checkpoints`: the model has no tensor 'nowhere'");
}

TEST(ChangeOutputs, RefusesUnknownAndInvalidNames) {
  const auto graph = three_outputs();
  test::expect_error([&] { change_outputs(*graph, {"x"}, {}); }, ErrorCode::not_found,
                     "`remove_outputs`: there is no output 'x'");
  test::expect_error([&] { change_outputs(*graph, {"a", "b", "d"}, {}); },
                     ErrorCode::invalid_argument, "`remove_outputs`: 'd' is the only output");
  test::expect_error([&] { change_outputs(*graph, {}, {"nowhere"}); }, ErrorCode::not_found,
                     "`checkpoints`: the model has no tensor 'nowhere'");
  for (const char* name : {"x", "c"})
    test::expect_error([&] { change_outputs(*graph, {}, {name}); }, ErrorCode::invalid_argument,
                       "is an input or a constant of the model");
}

}  // namespace
}  // namespace poprt::compiler
