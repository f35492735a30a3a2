#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

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

}  // namespace
}  // namespace poprt::test
