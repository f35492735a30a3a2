#include "passes/common/describe.h"

#include "core/passes/pass_case.h"
#include "ir/types_agree.h"

namespace poprt::test {
namespace {

TEST(Describe, TypesHaveZeroForUnknownDimensions) {
  const auto graph = parsed(
      "input %x : f32[?,3]\ninput %s : s64[]\ninput %e : u8[0]\n%y = Abs(%x)"
      "\noutput %y");
  EXPECT_EQ(passes::describe_type(*graph->find("x")), "dtype - f32, shape - [0, 3]");
  EXPECT_EQ(passes::describe_type(*graph->find("s")), "dtype - s64, shape - []");
  EXPECT_EQ(passes::describe_type(*graph->find("e")), "dtype - u8, shape - [0]");
  graph->find("x")->type.has_shape = false;
  EXPECT_EQ(passes::describe_type(*graph->find("x")), "dtype - f32, shape - unknown");
}

TEST(Describe, VariableDimensionsHaveTheirNames) {
  const auto graph = parsed("input %x : f32[N,?,3]\n%y = Abs(%x)\noutput %y");
  EXPECT_EQ(passes::describe_named_type(*graph->find("x")), "dtype - f32, shape - [N, ?, 3]");
  EXPECT_NE(passes::io_statistics(*graph).find("shape - [N, ?, 3]"), std::string::npos);
}

TEST(Describe, ContainersAreInputsAtTheirPositions) {
  // A real model gets its containers from the importer, and they have no operator.
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[2]
    input %z : f32[3]
    %s : ? = poprt.ContainerInput() {kind = "sequence", position = 1}
    %y : s64[] = SequenceLength(%s)
    output %y
  })");
  ir::Node& container = *graph->find("s")->producer();
  container.attributes["element"] = static_cast<int64_t>(DType::f32);
  container.attributes["shape"] = Shape{-1, 3};
  graph->metadata[ir::kDeclaredContainer + "y"] = "optional_sequence f32[?,3]";
  std::vector<std::string> names;
  for (const ir::Value* v : passes::model_inputs(*graph)) names.push_back(v->name());
  EXPECT_EQ(names, (std::vector<std::string>{"x", "s", "z"}));
  EXPECT_EQ(passes::describe_named_type(*graph->find("s")), "sequence of f32[?,3]");
  EXPECT_EQ(passes::describe_named_type(*graph->find("y")), "optional sequence of f32[?,3]");
  EXPECT_EQ(passes::io_statistics(*graph).substr(0, 10), "inputs: 3\n");
}

TEST(Describe, InputsAndOutputsAreCountedByType) {
  const auto graph = parsed(R"(
    input %a : f32[2]
    input %b : s64[2]
    input %c : f32[2]
    input %d : f32[3]
    %y = Neg(%d)
    output %y
  )");
  EXPECT_EQ(passes::io_statistics(*graph),
            "inputs: 4\n  2 x dtype - f32, shape - [2]\n  1 x dtype - s64, shape - [2]\n"
            "  1 x dtype - f32, shape - [3]\noutputs: 1\n  1 x dtype - f32, shape - [3]\n");
}

// The result of each product or normalisation that both models have: its output, or the value after
// at most three casts, factors and addends.
TEST(Describe, LayersAreNamedByTheSharedResult) {
  const auto results = [](const char* before, const char* after) {
    return passes::layer_results(*parsed(before), *parsed(after));
  };
  const std::string head = "input %x : f32[2,2]\nconst %w : f32[2,2] = [1.0, 2.0, 3.0, 4.0]\n";
  const std::string plain = head + "%p = MatMul(%x, %w)\n%r = Relu(%p)\n%y = Add(%r, %w)\n";
  const std::string before = plain + "output %y";
  EXPECT_EQ(results(before.c_str(), before.c_str()), "MatMul p\n");
  const auto results_after = [&](const std::string& steps) {
    return results(before.c_str(), (head + "%q = MatMul(%x, %w)\n" + steps).c_str());
  };
  EXPECT_EQ(results_after("%p = Cast(%q) {to = 1}\noutput %p"), "MatMul p\n");
  EXPECT_EQ(results_after("%p = Mul(%q, %w)\noutput %p"), "MatMul p\n");
  EXPECT_EQ(results_after("%p = Add(%q, %w)\noutput %p"), "MatMul p\n");
  EXPECT_EQ(results_after("%a = Cast(%q) {to = 1}\n%b = Mul(%a, %w)\n%p = Add(%b, %w)\noutput %p"),
            "MatMul p\n");
  EXPECT_EQ(results_after("%a = Cast(%q) {to = 1}\n%b = Mul(%a, %w)\n%c = Add(%b, %w)\n"
                          "%p = Cast(%c) {to = 1}\noutput %p"),
            "");
  EXPECT_EQ(results_after("%p = Neg(%q)\noutput %p"), "");  // %p has another value
  EXPECT_EQ(results_after("output %q"), "");
  EXPECT_EQ(results_after("%x2 = Mul(%q, %w)\noutput %x2"), "");
  // An input of that name is not a computed value.
  EXPECT_EQ(results("input %p : f32[2,2]\n%z = Relu(%p)\noutput %z", before.c_str()), "");
}

TEST(Describe, PrintsToTheCallbackOrToStandardOutput) {
  passes::PassContext context;
  std::string message;
  context.print = [&](std::string_view text) { message += text; };
  testing::internal::CaptureStdout();
  passes::print_text(context, "one {} line\n");
  context.print = nullptr;
  passes::print_text(context, "another\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "another\n");
  EXPECT_EQ(message, "one {} line\n");
}

}  // namespace
}  // namespace poprt::test
