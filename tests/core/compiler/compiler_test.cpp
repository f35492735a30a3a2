#include "compiler/compiler.h"

#include <gtest/gtest.h>

#include "core/compiler/support.h"

namespace poprt::test {
namespace {

TEST(Compiler, AnOutputThatIsAnInputIsCopied) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[3,5]
    %y : ? = Relu(%x)
    output %x
    output %y
  })");
}

TEST(Compiler, AnOutputThatIsAConstantIsStored) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[3]
    const %c : f32[3] = [1.0, 2.0, 3.0]
    %y : ? = Add(%x, %c)
    output %c
    output %y
  })");
}

TEST(Compiler, OneValueMayBeTwoOutputs) {
  const std::string text = R"(graph "g" opset {"": 17} {
    input %x : f32[6]
    %y : ? = Relu(%x)
    output %y
    output %y
  })";
  const compiler::Executable e = compile_text(text);
  ASSERT_EQ(e.program.outputs.size(), 2u);
}

TEST(Compiler, ConcatAndSplitShareMemory) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[1,32]
    %a : ?, %b : ? = Split(%x) {axis = 1}
    %c : ? = Relu(%a)
    %d : ? = Sigmoid(%b)
    %e : ? = Concat(%d, %c, %d) {axis = 1}
    %f : ? = Concat(%e, %c) {axis = 1}
    %g : ? = Relu(%e)
    output %f
    output %g
  })");
}

TEST(Compiler, AValueReadAgainLaterIsNotOverwritten) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[4,16]
    %a : ? = Sigmoid(%x)
    %b : ? = Tanh(%a)
    %c : ? = Exp(%b)
    %d : ? = Transpose(%c) {perm = [1, 0]}
    %e : ? = Transpose(%a) {perm = [1, 0]}
    %f : ? = Mul(%d, %e)
    output %f
  })");
}

TEST(Compiler, AMultiLayerPerceptron) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[3,8]
    const %w : f32[5,8] = fill 0.25
    const %b : f32[5] = [0.1, 0.2, 0.3, -0.4, 0.5]
    %a : ? = Gemm(%x, %w, %b) {transB = 1}
    %r : ? = Relu(%a)
    %y : ? = Softmax(%r) {axis = -1}
    output %y
  })");
}

// Blocked layout, epilogues, in-place Concat, pooling and the way back.
TEST(Compiler, AConvolutionalNetwork) {
  expect_compiles_to_same(R"(graph "g" opset {"": 17} {
    input %x : f32[2,3,12,10]
    const %w1 : f32[32,3,3,3] = fill 0.03125
    const %w2 : f32[32,32,3,3] = fill 0.0078125
    const %w3 : f32[20,64,1,1] = fill 0.0625
    const %b1 : f32[32] = fill 0.5
    %c1 : ? = Conv(%x, %w1, %b1) {kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]}
    %r1 : ? = Relu(%c1)
    %c2 : ? = Conv(%r1, %w2) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
    %s2 : ? = Sigmoid(%c2)
    %m2 : ? = Mul(%c2, %s2)
    %a2 : ? = Add(%m2, %r1)
    %k : ? = Concat(%a2, %r1) {axis = 1}
    %c3 : ? = Conv(%k, %w3) {kernel_shape = [1, 1]}
    %p : ? = MaxPool(%c3) {kernel_shape = [2, 2], strides = [2, 2]}
    %g : ? = GlobalAveragePool(%p)
    %f : ? = Flatten(%g) {axis = 1}
    output %f
    output %c3
  })",
                          2e-5);
}

TEST(Compiler, SameInputGivesTheSameProgram) {
  const std::string text = R"(graph "g" opset {"": 17} {
    input %x : f32[1,16,6,6]
    const %w : f32[16,16,3,3] = fill 0.5
    %a : ? = Conv(%x, %w) {kernel_shape = [3, 3]}
    %b : ? = Relu(%a)
    %y : ? = GlobalAveragePool(%b)
    output %y
  })";
  EXPECT_EQ(program::to_string(compile_text(text).program),
            program::to_string(compile_text(text).program));
}

TEST(Compiler, AnUnknownOperatorIsNamed) {
  try {
    compile_text(R"(graph "g" opset {"": 17, "com.example": 1} {
      input %x : f32[3]
      %y : ? = com.example.Strange(%x) "here"
      output %y
    })");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    EXPECT_NE(e.message().find("com.example.Strange node 'here'"), std::string::npos)
        << e.message();
  }
}

}  // namespace
}  // namespace poprt::test
