#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(FuseConsecutiveTranspose, ComposesPermutations) {
  expect_rewrite({"fuse_consecutive_transpose"}, R"(
    input %x : f32[2,3,4]
    %a = Transpose(%x) {perm = [1, 2, 0]}
    %y = Transpose(%a) {perm = [0, 2, 1]}
    output %y
  )",
                 R"(
    input %x : f32[2,3,4]
    %y = Transpose(%x) {perm = [1, 0, 2]}
    output %y
  )");
}

}  // namespace
}  // namespace poprt::test
