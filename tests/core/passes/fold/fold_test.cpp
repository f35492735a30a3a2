#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(ConstantFolding, ShapeArithmeticDisappears) {
  const auto graph = parsed(R"(
    input %x : f32[2,3,4]
    const %zero : s64[1] = [0]
    const %minus : s64[1] = [-1]
    %s = Shape(%x)
    %b = Gather(%s, %zero)
    %t = Concat(%b, %minus) {axis = 0}
    %y = Reshape(%x, %t)
    %n = Shape(%y)
    %z = Reshape(%y, %n)
    output %z
  )");
  run(*graph, {"constant_folding", "eliminate_unused_initializer"});
  EXPECT_EQ(ops_of(*graph), "Reshape Reshape");
  EXPECT_EQ(graph->outputs()[0]->shape(), (Shape{2, 12}));
}

TEST(ConstantFolding, LargeResultsOfLittleStayNodes) {
  const char* text = R"(
    input %x : f32[1024,1024]
    const %one : f32[1,1] = [1.0]
    const %shape : s64[2] = [1024, 1024]
    %big = Expand(%one, %shape)
    %y = Add(%x, %big)
    output %y
  )";
  const auto graph = parsed(text);
  run(*graph, {"constant_folding"});
  EXPECT_EQ(ops_of(*graph), "Expand Add");
}

TEST(ConstantFolding, RespectsTheLimit) {
  const auto graph = parsed(R"(
    input %x : f32[4]
    const %a : f32[2,2] = [1.0, 2.0, 3.0, 4.0]
    const %s : s64[1] = [4]
    %b = Reshape(%a, %s)
    %y = Concat(%x, %b) {axis = 0}
    output %y
  )");
  const passes::PassDef* list[] = {&passes::pass_of("constant_folding")};
  passes::run_passes(*graph, list, {.max_tensor_size = 8});
  EXPECT_EQ(graph->node_count(), 2u);
  passes::run_passes(*graph, list, {.max_tensor_size = 16});
  EXPECT_EQ(graph->node_count(), 1u);
}

constexpr const char* kBatchNorm = R"(
    const %scale : f32[4] = [1.5, 0.5, -1.0, 2.0]
    const %shift : f32[4] = [0.1, 0.2, 0.3, 0.4]
    const %mean : f32[4] = [0.5, -0.5, 0.25, 1.0]
    const %var : f32[4] = [1.0, 2.0, 0.5, 0.25]
)";

TEST(FuseBnIntoConv, GroupedConvolution) {
  expect_ops({"fuse_bn_into_conv", "eliminate_unused_initializer"}, std::string(kBatchNorm) + R"(
    input %x : f32[1,4,3,3]
    const %w : f32[4,2,2,2] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, -0.1, -0.2, -0.3, -0.4, -0.5, -0.6, -0.7, -0.8, 0.3, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 0.1]
    const %b : f32[4] = [0.5, 0.25, 0.125, 1.0]
    %c = Conv(%x, %w, %b) {kernel_shape = [2, 2], group = 2}
    %y = BatchNormalization(%c, %scale, %shift, %mean, %var)
    output %y
  )",
             "Conv");
}

TEST(FuseBnIntoConv, GroupedTransposedConvolution) {
  expect_ops({"fuse_bn_into_conv"}, std::string(kBatchNorm) + R"(
    input %x : f32[1,2,3,3]
    const %w : f32[2,2,2,2] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
    %c = ConvTranspose(%x, %w) {kernel_shape = [2, 2], group = 2}
    %y = BatchNormalization(%c, %scale, %shift, %mean, %var)
    output %y
  )",
             "ConvTranspose");
}

TEST(FuseBnIntoConv, SharedResultsKeepTheirBatchNorm) {
  expect_ops({"fuse_bn_into_conv"}, std::string(kBatchNorm) + R"(
    input %x : f32[1,1,2,2]
    const %w : f32[4,1,1,1] = [0.1, 0.2, 0.3, 0.4]
    %c = Conv(%x, %w) {kernel_shape = [1, 1]}
    %y = BatchNormalization(%c, %scale, %shift, %mean, %var)
    output %y
    output %c
  )",
             "Conv BatchNormalization");
}

TEST(FuseBnIntoGemm, GemmWithAlphaAndMatMul) {
  expect_ops({"fuse_bn_into_gemm"}, std::string(kBatchNorm) + R"(
    input %x : f32[3,2]
    const %w : f32[4,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    const %b : f32[4] = [1.0, 2.0, 3.0, 4.0]
    %c = Gemm(%x, %w, %b) {transB = 1, alpha = 0.5, beta = 2.0}
    %y = BatchNormalization(%c, %scale, %shift, %mean, %var)
    output %y
  )",
             "Gemm");
  expect_ops({"fuse_bn_into_gemm"}, std::string(kBatchNorm) + R"(
    input %x : f32[3,2]
    const %w : f32[2,4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    %c = MatMul(%x, %w)
    %y = BatchNormalization(%c, %scale, %shift, %mean, %var)
    output %y
  )",
             "MatMul Add");
}

TEST(ReplaceBnWithMulAdd, WhenNoConvolutionTakesIt) {
  expect_ops({"replace_bn_with_mul_add"}, std::string(kBatchNorm) + R"(
    input %x : f32[2,4,3]
    %y = BatchNormalization(%x, %scale, %shift, %mean, %var)
    output %y
  )",
             "Mul Add");
}

TEST(FuseAddBiasIntoConv, AddsToTheBiasThatIsThere) {
  expect_ops({"fuse_add_bias_into_conv"}, R"(
    input %x : f32[1,1,3,3]
    const %w : f32[2,1,1,1] = [2.0, 3.0]
    const %b : f32[2] = [1.0, 2.0]
    const %more : f32[2,1,1] = [0.5, 0.25]
    %c = Conv(%x, %w, %b) {kernel_shape = [1, 1]}
    %y = Add(%more, %c)
    output %y
  )",
             "Conv");
}

TEST(FuseMulIntoMatmul, ScalarAndPerColumn) {
  expect_ops({"fuse_mul_into_matmul"}, R"(
    input %x : f32[3,2]
    const %w : f32[2,2] = [1.0, 2.0, 3.0, 4.0]
    const %s : f32[] = 0.125
    const %t : f32[2] = [2.0, 3.0]
    %a = MatMul(%x, %w)
    %b = Mul(%s, %a)
    %y = Mul(%b, %t)
    output %y
  )",
             "MatMul");
}

TEST(ReplaceDivWithMul, OnlyConstantsThatHaveAReciprocal) {
  expect_ops({"replace_div_with_mul"}, R"(
    input %x : f32[4]
    const %three : f32[] = 3.0
    %y = Div(%x, %three)
    output %y
  )",
             "Mul");
  expect_unchanged({"replace_div_with_mul"}, R"(
    input %x : f32[4]
    const %zero : f32[] = 0.0
    %y = Div(%x, %zero)
    output %y
  )");
}

TEST(FuseConsecutiveArithmetic, MergesConstantsButKeepsRoundingTricks) {
  expect_ops({"fuse_consecutive_arithmetic"}, R"(
    input %x : f32[2,2]
    const %a : f32[] = 3.0
    const %b : f32[2] = [2.0, 4.0]
    %m = Mul(%x, %a)
    %n = Div(%m, %b)
    %o = Add(%n, %a)
    %y = Add(%b, %o)
    output %y
  )",
             "Mul Add");
  expect_unchanged({"fuse_consecutive_arithmetic"}, R"(
    input %x : f32[2,2]
    const %a : f32[] = 12582912.0
    %m = Add(%x, %a)
    %y = Sub(%m, %a)
    output %y
  )");
}

// One element of more dimensions than the other constant: the merged one has both its elements and
// its dimensions.
TEST(FuseConsecutiveArithmetic, KeepsTheRankThatAConstantGives) {
  expect_ops({"fuse_consecutive_arithmetic"}, R"(
    input %x : f32[4]
    const %a : f32[1,1,1] = [3.0]
    const %b : f32[4] = [1.0, 2.0, 3.0, 4.0]
    %m = Mul(%x, %a)
    %y = Mul(%m, %b)
    output %y
  )",
             "Mul");
}

TEST(FuseConsecutiveArithmetic, LeavesConstantsWithoutElements) {
  expect_unchanged({"fuse_consecutive_arithmetic"}, R"(
    input %x : f32[2,0]
    const %a : f32[2,0] = []
    const %b : f32[] = 6.0
    %m = Mul(%x, %a)
    %y = Div(%m, %b)
    output %y
  )");
}

}  // namespace
}  // namespace poprt::test
