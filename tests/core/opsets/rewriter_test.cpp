// What all conversions have in common: names, types, constants and messages.
#include <gtest/gtest.h>

#include "core/opsets/conversion.h"

namespace poprt::opsets {
namespace {

TEST(Rewriter, ErrorsNameTheOperatorAsTheModelDoesAndBothOpsets) {
  const auto diagonal = [](const std::string& domain, const std::string& name) {
    return "input %x : f32[3,3]\n%y : f32[3] = " + domain + "Einsum(%x) {equation = \"ii->i\"}" +
           name + "\noutput %y";
  };
  const std::string why = "it takes the diagonal of operand 0 ('ii')";
  const auto model = declared(diagonal("", " \"my node\""), 20);
  EXPECT_EQ(refusal_of(*model, 11),
            "convert_version: no conversion from opset 20 to 11: Einsum node 'my node': " + why);
  // A node of a pass has an internal domain.
  const auto passes = declared(diagonal("poprt.onnx.", ""), 11);
  EXPECT_EQ(
      refusal_of(*passes, 11),
      "convert_version: no conversion from opset 11 to 11: Einsum node that makes 'y': " + why);
}

TEST(Rewriter, TheRankMustBeKnown) {
  const auto graph = declared("input %x : f32[*]\n%y : f32[*] = Softmax(%x)\noutput %y", 11);
  EXPECT_EQ(refusal_of(*graph, 13),
            "convert_version: no conversion from opset 11 to 13: Softmax node that makes 'y': "
            "the rank of 'x' must be known");
}

// Types of results are known at least as well as before the conversion.
TEST(Rewriter, AResultHasTheBetterKnownOfTwoShapes) {
  struct {
    const char *x, *y, *wanted;
  } const cases[] = {{"f32[?,3]", "f32[2,3]", "f32[2,3]"},
                     {"f32[2,3]", "f32[?,?]", "f32[2,3]"},
                     {"f32[?,3]", "f32[*]", "f32[?,3]"},
                     {"f32[2,3]", "f32[2,3]", "f32[2,3]"}};
  for (const auto& c : cases) {
    const auto graph =
        declared(fmt::format("input %x : {}\n%y : {} = Gelu(%x)\noutput %y", c.x, c.y), 20);
    convert(*graph, 13);
    const std::string text = ir::to_text(*graph);
    EXPECT_NE(text.find(fmt::format("%y : {} = Mul(", c.wanted)), std::string::npos) << text;
  }
}

TEST(Rewriter, ACopyOfANodeHasItsName) {
  const auto graph = parsed(
      "input %x : f32[2,5]\n%y : ? = ReduceSumSquare(%x) {noop_with_empty_axes = 1} \"sum\"\n"
      "output %y",
      18);
  convert(*graph, 17);
  EXPECT_EQ(ops_of(*graph), "Unsqueeze ReduceSumSquare");
  for (const ir::Node* n : graph->nodes()) EXPECT_TRUE(n->name.starts_with("sum")) << n->name;
}

TEST(Rewriter, ConstantsThatNoNodeReadsGo) {
  const std::string sum =
      "input %x : f32[2,5]\nconst %a : s64[1] = [1]\n%y : ? = ReduceSum(%x, %a)\noutput %y\n";
  const auto has = [](std::string_view body, int opset, int64_t target, const char* name) {
    const auto graph = parsed(body, opset);
    convert(*graph, target);
    return graph->find(name) != nullptr;
  };
  EXPECT_FALSE(has(sum, 13, 11, "a"));
  EXPECT_TRUE(has(sum + "output %a", 13, 11, "a"));
  EXPECT_TRUE(has(sum + "%z : ? = Add(%a, %a)\noutput %z", 13, 11, "a"));
  EXPECT_TRUE(has(sum, 13, 11, "x"));
  // A node that reads a constant twice becomes a constant.
  const std::string twice =
      "const %c : s32[2] = [6, 5]\nconst %d : s32[2] = [3, 3]\n%a : ? = BitwiseXor(%d, %c)\n"
      "%b : ? = BitwiseAnd(%c, %c)\n%y : ? = Add(%a, %b)\noutput %y";
  for (const char* name : {"c", "d"}) EXPECT_FALSE(has(twice, 18, 17, name)) << name;
  convert_from(twice, 18, 17, "Add");
}

TEST(Rewriter, AttributesThatANodeDoesNotHaveAddNoInput) {
  auto graph = convert_from(
      "input %x : f32[2,6]\n%a : ?, %b : ? = Split(%x) {axis = 1}\noutput %a\noutput %b", 11, 13,
      "Split");
  EXPECT_EQ(graph->nodes().front()->inputs().size(), 1u);
  graph =
      convert_from("input %x : f32[2,6]\n%y : ? = ReduceSum(%x)\noutput %y", 11, 13, "ReduceSum");
  EXPECT_EQ(graph->nodes().front()->inputs().size(), 1u);
  graph = convert_from("input %x : f32[2,1]\n%y : ? = Squeeze(%x)\noutput %y", 11, 13, "Squeeze");
  EXPECT_EQ(graph->nodes().front()->inputs().size(), 1u);
}

TEST(Rewriter, ConstantsOfAConversionHaveABoundedSize) {
  const auto of = [](const char* shape) {
    return fmt::format("input %x : f32{}\n%y = Trilu(%x)\noutput %y", shape);
  };
  convert_from(of("[0,100000000]"), 14, 13, "Where");
  convert_from(of("[100000000,0]"), 14, 13, "Where");
  expect_refusal(of("[1,100000000]"), 14, 13,
                 {"the constant [1,100000000] is larger than 16777216 elements"});
  expect_refusal(of("[4097,4096]"), 14, 13, {"[4097,4096] is larger than"});
  const auto grid = declared(
      "input %t : f32[1,2,3]\nconst %s : s64[4] = [1, 3, 4, -1]\n"
      "%y : f32[1,4,?,2] = AffineGrid(%t, %s)\noutput %y",
      20);
  EXPECT_TRUE(refusal_of(*grid, 19).ends_with(" node that makes 'y': a dimension of -1"));
}

}  // namespace
}  // namespace poprt::opsets
