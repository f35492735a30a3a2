#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

constexpr const char* kBranches = R"(
    %y : ? = If(%c) {
      then_branch = graph "t" { const %two : f32[] = 2.0 %a : ? = Mul(%x, %two) output %a },
      else_branch = graph "e" { const %one : f32[] = 1.0 %b : ? = Sub(%x, %one) output %b }}
    %z : ? = Neg(%y)
    output %z
)";

TEST(Branches, ARunTimeConditionRunsOneBranchOnTheDevice) {
  const Executable e =
      compile_body(std::string("input %c : bool[]\ninput %x : f32[5]\n") + kBranches);
  EXPECT_TRUE(uses(e, "control.if"));
  const Tensor x = floats({5});
  for (const bool c : {true, false}) {
    const Values got = run(e, {{"c", Tensor::scalar(c)}, {"x", x}});
    for (size_t i = 0; i < 5; i++)
      EXPECT_FLOAT_EQ(got.at("z").values<float>()[i],
                      c ? -2 * x.values<float>()[i] : 1 - x.values<float>()[i]);
  }
}

TEST(Branches, AConstantConditionLeavesNoBranch) {
  const Executable e =
      compile_body(std::string("const %c : bool[] = true\ninput %x : f32[5]\n") + kBranches);
  EXPECT_FALSE(uses(e, "control.if"));
  const Tensor x = floats({5});
  EXPECT_FLOAT_EQ(run(e, {{"x", x}}).at("z").values<float>()[3], -2 * x.values<float>()[3]);
}

TEST(Branches, BranchesOfTwoShapesNeedAConstantCondition) {
  EXPECT_EQ(code_of(R"(
    input %c : bool[]
    input %x : f32[4]
    %y : ? = If(%c) {
      then_branch = graph "t" { %a : ? = Concat(%x, %x) {axis = 0} output %a },
      else_branch = graph "e" { %b : ? = Neg(%x) output %b }}
    output %y
  )"),
            ErrorCode::unimplemented);
}

}  // namespace
}  // namespace poprt::compiler
