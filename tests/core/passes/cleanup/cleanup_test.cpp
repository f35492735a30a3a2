#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(EliminateIdentity, ReadersReadTheSourceAndOutputsKeepTheirNames) {
  expect_rewrite({"eliminate_identity"}, R"(
    input %x : f32[2,3]
    %a = Transpose(%x) {perm = [1, 0]}
    %y = Identity(%a)
    output %y
  )",
                 R"(
    input %x : f32[2,3]
    %y = Transpose(%x) {perm = [1, 0]}
    output %y
  )");
}

TEST(EliminateIdentity, StaysBetweenAnInputAndAnOutput) {
  expect_unchanged({"eliminate_identity"}, R"(
    input %x : f32[2]
    %y = Identity(%x)
    output %y
  )");
}

TEST(EliminateIdentity, OneOfTwoOutputsOfTheSameValueStays) {
  const auto graph = expect_ops({"eliminate_identity"}, R"(
    input %x : f32[2,3]
    %a = Transpose(%x)
    %y = Identity(%a)
    %z = Identity(%a)
    output %y
    output %z
  )",
                                "Transpose Identity");
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  EXPECT_EQ(graph->outputs()[1]->name(), "z");
}

TEST(EliminateNop, ShapesThatStayAreRemoved) {
  expect_ops({"eliminate_nop_reshape", "eliminate_nop_flatten", "eliminate_nop_transpose",
              "eliminate_nop_slice", "eliminate_nop_concat", "eliminate_nop_split",
              "eliminate_unused_initializer"},
             R"(
    input %x : f32[2,3]
    const %shape : s64[2] = [2, 3]
    const %zero : s64[1] = [0]
    const %large : s64[1] = [100]
    const %axis : s64[1] = [1]
    %a = Reshape(%x, %shape)
    %b = Flatten(%a)
    %c = Transpose(%b) {perm = [0, 1]}
    %d = Slice(%c, %zero, %large, %axis)
    %e = Concat(%d) {axis = 0}
    %f = Split(%e) {axis = 0}
    %y = Transpose(%f)
    output %y
  )",
             "Transpose", 17);
}

TEST(EliminateNop, ReversingSliceStays) {
  expect_unchanged({"eliminate_nop_slice"}, R"(
    input %x : f32[3]
    const %start : s64[1] = [2]
    const %end : s64[1] = [-100]
    const %axis : s64[1] = [0]
    const %step : s64[1] = [-1]
    %y = Slice(%x, %start, %end, %axis, %step)
    output %y
  )");
}

TEST(EliminateNopArithmetic, NeutralConstantsOfAnyShape) {
  expect_ops({"eliminate_nop_arithmetic"}, R"(
    input %x : f32[2,3]
    const %zero : f32[] = 0.0
    const %zeros : f32[3] = [0.0, 0.0, 0.0]
    const %one : f32[1] = [1.0]
    %a = Add(%zero, %x)
    %b = Sub(%a, %zeros)
    %c = Mul(%b, %one)
    %d = Div(%c, %one)
    %e = Pow(%d, %one)
    %y = Relu(%e)
    output %y
  )",
             "Relu");
}

TEST(EliminateNopArithmetic, BroadcastAndReversedOperandsStay) {
  expect_unchanged({"eliminate_nop_arithmetic"}, R"(
    input %x : f32[1,3]
    const %zeros : f32[2,1] = [0.0, 0.0]
    const %zero : f32[] = 0.0
    %a = Add(%x, %zeros)
    %y = Sub(%zero, %a)
    output %y
  )");
}

TEST(EliminateDeadend, RemovesChainsBackwards) {
  expect_rewrite({"eliminate_deadend", "eliminate_unused_initializer"}, R"(
    input %x : f32[2,3]
    const %shape : s64[1] = [6]
    %a = Transpose(%x)
    %b = Reshape(%a, %shape)
    %y = Transpose(%x)
    output %y
  )",
                 R"(
    input %x : f32[2,3]
    %y = Transpose(%x)
    output %y
  )");
}

TEST(EliminateDuplicateNodes, EqualSubtreesAreComputedOnce) {
  expect_rewrite({"eliminate_duplicate_initializer", "eliminate_duplicate_nodes"}, R"(
    input %x : f32[2,3]
    const %s1 : s64[1] = [6]
    const %s2 : s64[1] = [6]
    %a = Transpose(%x) {perm = [1, 0]}
    %b = Transpose(%x) {perm = [1, 0]}
    %c = Transpose(%x) {perm = [0, 1]}
    %d = Reshape(%a, %s1)
    %e = Reshape(%b, %s2)
    %f = Reshape(%c, %s1)
    %y = Concat(%d, %e, %f) {axis = 0}
    output %y
  )",
                 R"(
    input %x : f32[2,3]
    const %s1 : s64[1] = [6]
    %a = Transpose(%x) {perm = [1, 0]}
    %c = Transpose(%x) {perm = [0, 1]}
    %d = Reshape(%a, %s1)
    %f = Reshape(%c, %s1)
    %y = Concat(%d, %d, %f) {axis = 0}
    output %y
  )");
}

TEST(EliminateNopIf, TakesTheBranchAndItsCaptures) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[2,3]
    const %yes : bool[] = true
    %a : f32[3,2] = Transpose(%x)
    %y : f32[2,3] = If(%yes) {
      then_branch = graph "t" { %t : f32[2,3] = Transpose(%a) output %t },
      else_branch = graph "e" { %e : f32[2,3] = Identity(%x) output %e }}
    output %y
  })");
  run(*graph, {"eliminate_nop_if"});
  EXPECT_EQ(ops_of(*graph), "Transpose Transpose");
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
}

TEST(UniqueNames, EveryNodeGetsOne) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[2,3]
    %a : f32[3,2] = Transpose(%x) "n"
    %b : f32[2,3] = Transpose(%a) "n"
    %y : f32[3,2] = Transpose(%b)
    output %y
  })");
  run(*graph, {"unique_name_for_nodes"});
  const auto nodes = graph->nodes();
  EXPECT_EQ(nodes[0]->name, "n");
  EXPECT_EQ(nodes[1]->name, "n_0");
  EXPECT_EQ(nodes[2]->name, "Transpose_0");
}

TEST(ExtractConstant, ConstantNodesBecomeInitializers) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[2,3]
    %s = Constant() {value_ints = [6]}
    %y : f32[6] = Reshape(%x, %s)
    output %y
  })");
  run(*graph, {"extract_constant_to_initializer"});
  EXPECT_EQ(ops_of(*graph), "Reshape");
  EXPECT_EQ(graph->find("s")->constant().to_int64s(), std::vector<int64_t>{6});
}

}  // namespace
}  // namespace poprt::test
