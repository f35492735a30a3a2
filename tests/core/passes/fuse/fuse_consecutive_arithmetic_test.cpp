#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

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

// One constant has more dimensions, the other one more elements. The merged constant has both.
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
