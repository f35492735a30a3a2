#include <gtest/gtest.h>

#include "core/compiler/flow/long_chain.h"
#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

TEST(FoldInputs, LevelsFoldFromNoInputToAllInputs) {
  const std::string text = graph_text(R"(
    input %x : f32[6]
    input %shape : s64[2]
    input %scale : f32[]
    %r : ? = Reshape(%x, %shape)
    %y : ? = Mul(%r, %scale)
    output %y
  )");
  const Values all = {{"x", floats({6})},
                      {"shape", Tensor::of<int64_t>({2}, {2, 3})},
                      {"scale", Tensor::scalar(2.0f)}};
  using Names = std::vector<std::string>;
  const auto folded = [&](int level) {
    const auto graph = ir::parse_text(text);
    return fold_inputs(*graph, all, level);
  };
  EXPECT_EQ(folded(0), Names{});
  EXPECT_EQ(folded(1), Names{"shape"});
  EXPECT_EQ(folded(2), (Names{"shape", "scale"}));
  EXPECT_EQ(folded(3), (Names{"x", "shape", "scale"}));
}

TEST(FoldInputs, FindsInputsOfAShapeThroughProducersNotThroughShape) {
  using Names = std::vector<std::string>;
  const auto graph = ir::parse_text(graph_text(R"(
    input %x : f32[6]
    input %like : f32[2,3]
    input %half : s64[1]
    const %two : s64[1] = [2]
    %dims : ? = Shape(%like)
    %same : ? = Reshape(%x, %dims)
    %rest : ? = Mul(%half, %two)
    %tail : ? = Concat(%two, %rest) {axis = 0}
    %y : ? = Reshape(%same, %tail)
    output %y
  )"));
  const Values all = {
      {"x", floats({6})}, {"like", floats({2, 3})}, {"half", Tensor::of<int64_t>({1}, {3})}};
  EXPECT_EQ(fold_inputs(*graph, all, 1), Names{"half"});
}

// A first input may decide a shape, and there may be very many.
TEST(FoldInputs, EveryInputOfANodeHasItsLevel) {
  using Names = std::vector<std::string>;
  const auto folded = [](const std::string& body, const Values& values, int level) {
    return fold_inputs(*ir::parse_text(graph_text(body + "output %y\n")), values, level);
  };
  const std::string shape = "input %s : s64[1]\n%y : ? = ConstantOfShape(%s)\n";
  const Values sizes = {{"s", Tensor::of<int64_t>({1}, {3})}};
  EXPECT_EQ(folded(shape, sizes, 0), Names{});
  EXPECT_EQ(folded(shape, sizes, 1), Names{"s"});
  EXPECT_EQ(folded(shape, sizes, 2), Names{"s"});
  std::string sum = "%y : ? = Sum(", inputs;
  Values all;
  Names behind_first;
  for (int i = 0; i < 40; i++) {
    const std::string name = fmt::format("x{}", i);
    inputs += "input %" + name + " : f32[2]\n";
    sum += (i ? ", %" : "%") + name;
    all[name] = floats({2});
    if (i > 0) behind_first.push_back(name);
  }
  EXPECT_EQ(folded(inputs + sum + ")\n", all, 1), Names{});
  EXPECT_EQ(folded(inputs + sum + ")\n", all, 2), behind_first);
  EXPECT_EQ(folded(inputs + sum + ")\n", all, 3).size(), 40u);
  // An input that a branch reads is folded, too.
  const std::string branch =
      "input %x : f32[6]\ninput %s : s64[2]\ninput %c : bool[]\n%y : ? = If(%c) {then_branch = "
      "graph "
      "\"t\" { %r : ? = Reshape(%x, %s) output %r }, else_branch = graph \"e\" { %n : ? = "
      "Reshape(%x, "
      "%s) output %n }}\n";
  EXPECT_EQ(folded(branch, {{"x", floats({6})}, {"s", Tensor::of<int64_t>({2}, {2, 3})}}, 1),
            Names{"s"});
}

TEST(FoldInputs, TextIsFoldedAtEveryLevel) {
  for (int level = 0; level < kFoldLevels; level++) {
    const auto graph = ir::parse_text(graph_text(
        "input %t : string[1]\ninput %x : f32[1]\n%y : ? = Neg(%x)\noutput %y\noutput %t\n"));
    EXPECT_EQ(fold_inputs(*graph, {{"t", Tensor::strings({1}, {"a"})}}, level),
              std::vector<std::string>{"t"})
        << level;
    EXPECT_EQ(graph->inputs().size(), 1u);
  }
}

TEST(FoldInputs, AFoldedInputKeepsItsNameAsAnOutputAndItsType) {
  const char* text = R"(
    input %x : f32[2]
    %y : ? = Neg(%x)
    output %y
    output %x
  )";
  const auto graph = ir::parse_text(graph_text(text));
  const Tensor x = floats({2});
  fold_inputs(*graph, {{"x", x}}, 3);
  EXPECT_TRUE(graph->inputs().empty());
  EXPECT_EQ(graph->outputs()[1], graph->find("x"));
  EXPECT_TRUE(graph->find("x")->constant().same_as(x));

  const auto other = ir::parse_text(graph_text(text));
  try {
    fold_inputs(*other, {{"x", Tensor::zeros(DType::s32, {2})}}, 3);
    ADD_FAILURE() << "a value of another type was taken";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("input 'x' is f32, its value is s32"), std::string::npos)
        << e.message();
  }
}

TEST(FoldInputs, FindsInputsOfAShapeThroughAVeryLongChain) {
  const auto graph = ir::parse_text(graph_text("input %x : f32[2]\ninput %n : s64[2]\n" +
                                               long_chain("Neg", "n", "s") +
                                               "%y : ? = Reshape(%x, %s)\noutput %y\n"));
  const Values all = {{"x", floats({2})}, {"n", Tensor::of<int64_t>({2}, {2, 1})}};
  EXPECT_EQ(fold_inputs(*graph, all, 1), std::vector<std::string>{"n"});
}

}  // namespace
}  // namespace poprt::compiler
