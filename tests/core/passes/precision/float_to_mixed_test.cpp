#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(FloatToMixed, ComputesProductsInHalfAndTheRestInFloat) {
  const auto graph = expect_ops({"float_to_mixed"}, R"(
    input %x : f32[3,4]
    const %w : f32[4,4] = [0.5, 0.1, 0.2, 0.3, 0.5, 0.1, 0.2, 0.3, 0.5, 0.1, 0.2, 0.3, 0.7, 0.1, 0.2, 0.3]
    %a = MatMul(%x, %w)
    %s = Softmax(%a)
    %y = MatMul(%s, %w)
    output %y
  )",
                                "Cast MatMul Cast Softmax Cast MatMul Cast", 17, 2e-3);
  for (const ir::Node* n : graph->nodes())
    for (const ir::Value* v : n->inputs()) {
      if (n->is("MatMul")) EXPECT_EQ(v->dtype(), DType::f16);
      if (n->is("Softmax")) EXPECT_EQ(v->dtype(), DType::f32);
    }
  EXPECT_EQ(graph->inputs()[0]->dtype(), DType::f32);
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::f32);
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
}

TEST(FloatToMixed, KeepsBiasesAndAttributes) {
  expect_ops({"float_to_mixed"}, R"(
    input %x : f32[1,2,5,5]
    const %w : f32[4,1,3,3] = fill 0.25
    const %b : f32[4] = [1.0, -1.0, 0.5, 0.0]
    %y = Conv(%x, %w, %b) {group = 2, pads = [1, 1, 1, 1]}
    output %y
  )",
             "Cast Conv Cast", 17, 2e-3);
}

TEST(FloatToMixed, LeavesOtherThanProductsOfFloats) {
  expect_unchanged({"float_to_mixed"}, "input %x : f32[3]\n%y = Exp(%x)\noutput %y");
  expect_unchanged({"float_to_mixed"}, "input %x : f64[3,3]\n%y = MatMul(%x, %x)\noutput %y");
}

}  // namespace
}  // namespace poprt::test
