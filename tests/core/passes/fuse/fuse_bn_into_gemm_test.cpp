#include "core/passes/batch_norm_case.h"
#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

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

}  // namespace
}  // namespace poprt::test
