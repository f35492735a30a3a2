#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

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

}  // namespace
}  // namespace poprt::test
