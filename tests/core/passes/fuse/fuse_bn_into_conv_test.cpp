#include "core/passes/batch_norm_case.h"
#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

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

// Weights 1, 2, 3 ... of four filters or inputs in two groups; factors 1, 2, 4, 8 of the results.
TEST(FuseBnIntoConv, EveryElementIsTimesTheFactorOfItsOutputChannel) {
  for (const std::string type : {"f32", "f16", "f64"})
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(type + (transposed ? " transposed" : ""));
      std::string body = fmt::format("input %x : {}[1,4,3,3]\n", type);
      body += fmt::format("const %w : {}[4,2,1,2] = [1.0", type);
      for (int i = 2; i <= 16; i++) body += fmt::format(", {}.0", i);
      body += "]\n";
      for (const char* constant : {"s = [1.0, 2.0, 4.0, 8.0]", "b = [0.0, 0.0, 0.0, 0.0]",
                                   "m = [0.0, 0.0, 0.0, 0.0]", "v = [1.0, 1.0, 1.0, 1.0]"})
        body += fmt::format("const %{0:.1} : {1}[4] = {2}\n", constant, type, constant + 4);
      body += fmt::format("%c = {}(%x, %w) {{group = 2}}\n", transposed ? "ConvTranspose" : "Conv");
      body += "%y = BatchNormalization(%c, %s, %b, %m, %v) {epsilon = 0.0}\noutput %y";
      const auto graph = parsed(body);
      run(*graph, {"fuse_bn_into_conv"});
      ASSERT_EQ(ops_of(*graph), transposed ? "ConvTranspose" : "Conv");
      std::vector<double> expected;
      for (int i = 0; i < 16; i++) {
        const int row = i / 4, column = i / 2 % 2;
        const int channel = transposed ? row / 2 * 2 + column : row;
        expected.push_back((i + 1) * (1 << channel));
      }
      EXPECT_EQ(graph->nodes()[0]->input(1)->constant().to_doubles(), expected);
    }
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

}  // namespace
}  // namespace poprt::test
