#include <fmt/format.h>

#include <algorithm>
#include <cctype>

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

// A graph that a pass must not change, because its node has an effect.
struct Kept {
  const char* pass;
  const char* why;
  const char* text;
};

void PrintTo(const Kept& kept, std::ostream* out) { *out << kept.pass << ": " << kept.why; }

class WhatDoesSomething : public testing::TestWithParam<Kept> {};

TEST_P(WhatDoesSomething, Stays) { expect_unchanged({GetParam().pass}, GetParam().text); }

const Kept kKept[] = {
    {"eliminate_nop_transpose", "the last two axes change places", R"(
       input %x : f32[2,3,3]
       %y = Transpose(%x) {perm = [0, 2, 1]}
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_transpose", "the default order reverses a matrix", R"(
       input %x : f32[3,3]
       %y = Transpose(%x)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_cast", "the type changes", R"(
       input %x : f32[3]
       %y = Cast(%x) {to = 10}
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_concat", "the second input adds rows", R"(
       input %x : f32[2,3]
       input %w : f32[1,3]
       %y = Concat(%x, %w) {axis = 0}
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_split", "there is a second part", R"(
       input %x : f32[4,3]
       %y, %w = Split(%x) {axis = 0}
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_expand", "the first axis grows", R"(
       input %x : f32[1,3]
       const %shape : s64[2] = [2, 3]
       %y = Expand(%x, %shape)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_expand", "the rank grows", R"(
       input %x : f32[3]
       const %shape : s64[2] = [1, 3]
       %y = Expand(%x, %shape)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_tile", "the second axis repeats", R"(
       input %x : f32[2,3]
       const %repeats : s64[2] = [1, 2]
       %y = Tile(%x, %repeats)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_reshape", "the axes differ, their product does not", R"(
       input %x : f32[2,3]
       const %shape : s64[2] = [3, 2]
       %y = Reshape(%x, %shape)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_reshape", "an unknown shape may differ", R"(
       input %x : f32[?,3]
       const %shape : s64[2] = [-1, 3]
       %y = Reshape(%x, %shape)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_flatten", "three axes become two", R"(
       input %x : f32[2,3,1]
       %y = Flatten(%x)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_flatten", "rows become one row", R"(
       input %x : f32[2,3]
       %y = Flatten(%x) {axis = 0}
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_pad", "one element is added at the end", R"(
       input %x : f32[2,3]
       const %pads : s64[4] = [0, 0, 0, 1]
       %y = Pad(%x, %pads)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_pad", "one element is taken away and one added", R"(
       input %x : f32[3]
       const %pads : s64[2] = [-1, 1]
       %y = Pad(%x, %pads)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_pad", "the run decides how much is added", R"(
       input %x : f32[3]
       input %pads : s64[2]
       %y = Pad(%x, %pads)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_slice", "the first row goes", R"(
       input %x : f32[3]
       const %start : s64[1] = [1]
       const %end : s64[1] = [3]
       %y = Slice(%x, %start, %end)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_slice", "one of two axes is reversed", R"(
       input %x : f32[3,2]
       const %start : s64[2] = [0, 1]
       const %end : s64[2] = [3, -100]
       const %axes : s64[2] = [0, 1]
       const %steps : s64[2] = [1, -1]
       %y = Slice(%x, %start, %end, %axes, %steps)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_dropout", "the mask is read", R"(
       input %x : f32[3]
       %y, %mask = Dropout(%x)
       %z = Where(%mask, %y, %y)
       output %z)"},
    {"eliminate_nop_dropout", "it is in training mode", R"(
       input %x : f32[3]
       const %ratio : f32[] = 0.5
       const %training : bool[] = true
       %y = Dropout(%x, %ratio, %training)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_arithmetic", "zero is not neutral for a product", R"(
       input %x : f32[3]
       const %zero : f32[] = 0.0
       %y = Mul(%x, %zero)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_arithmetic", "one is not neutral for a sum", R"(
       input %x : f32[3]
       const %one : f32[] = 1.0
       %a = Add(%x, %one)
       %b = Sub(%a, %one)
       %z = Relu(%b)
       output %z)"},
    {"eliminate_nop_arithmetic", "one in front is not neutral for a quotient or a power", R"(
       input %x : f32[3]
       const %one : f32[] = 1.0
       %a = Div(%one, %x)
       %b = Pow(%one, %a)
       %z = Relu(%b)
       output %z)"},
    {"eliminate_nop_arithmetic", "one element of the constant is not neutral", R"(
       input %x : f32[3]
       const %almost : f32[3] = [1.0, 1.0, 1.5]
       %a = Mul(%x, %almost)
       %b = Div(%a, %almost)
       %z = Relu(%b)
       output %z)"},
    {"eliminate_nop_arithmetic", "the neutral operand adds an axis", R"(
       input %x : f32[3]
       const %zeros : f32[1,3] = [0.0, 0.0, 0.0]
       %y = Add(%x, %zeros)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_arithmetic", "nothing is known of the operand", R"(
       input %x : f32[3]
       input %zero : f32[]
       %y = Add(%x, %zero)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_nop_arithmetic", "other operators have no neutral operand", R"(
       input %x : f32[3]
       const %one : f32[] = 1.0
       %a = Max(%x, %one)
       %b = PRelu(%a, %one)
       output %b)"},
    {"eliminate_identity", "no other node is one", R"(
       input %x : f32[3]
       %y = Neg(%x)
       %z = Relu(%y)
       output %z)"},
    {"eliminate_deadend", "one of two results is read", R"(
       input %x : f32[4]
       %y, %w = Split(%x) {axis = 0}
       output %y)"},
    {"eliminate_unused_initializer", "the constant is read", R"(
       input %x : f32[2]
       const %w : f32[2] = [1.0, 2.0]
       %y = Add(%x, %w)
       output %y)"},
    {"eliminate_unused_initializer", "the constant is an output", R"(
       input %x : f32[2]
       const %w : f32[2] = [1.0, 2.0]
       %y = Relu(%x)
       output %y
       output %w)"},
    {"eliminate_duplicate_initializer", "shape, type or a value differ", R"(
       input %x : f32[2]
       const %a : f32[2] = [1.0, 2.0]
       const %b : f32[1,2] = [1.0, 2.0]
       const %c : f32[2] = [1.0, 2.5]
       const %d : s32[2] = [0, 0]
       const %e : f32[2] = [0.0, 0.0]
       const %f : f32[2] = [0.0, -0.0]
       %g = Cast(%d) {to = 1}
       %y = Sum(%x, %a, %b, %c, %e, %f, %g)
       output %y)"},
    {"eliminate_duplicate_initializer", "both are outputs", R"(
       const %a : f32[2] = [1.0, 2.0]
       const %b : f32[2] = [1.0, 2.0]
       output %a
       output %b)"},
    {"eliminate_duplicate_nodes", "an attribute differs in its value", R"(
       input %x : f32[2,3]
       %a = Softmax(%x) {axis = 0}
       %b = Softmax(%x) {axis = 1}
       %c = Elu(%a) {alpha = 1.0}
       %d = Elu(%a) {alpha = 2.0}
       %e = Transpose(%x) {perm = [0, 1]}
       %f = Transpose(%x) {perm = [1, 0]}
       %y = Sum(%a, %b, %c, %d, %e)
       output %y
       output %f)"},
    {"eliminate_duplicate_nodes", "an attribute is given to one of them", R"(
       input %x : f32[2,3]
       %a = Elu(%x)
       %b = Elu(%x) {alpha = 2.0}
       %y = Add(%a, %b)
       output %y)"},
    {"eliminate_duplicate_nodes", "a text differs", R"(
       input %x : f32[1,1,2,2]
       const %scales : f32[4] = [1.0, 1.0, 2.0, 2.0]
       %a = Resize(%x, _, %scales) {mode = "linear"}
       %b = Resize(%x, _, %scales) {mode = "cubic"}
       %y = Add(%a, %b)
       output %y)"},
    {"eliminate_duplicate_nodes", "the operands change places", R"(
       input %x : f32[3]
       input %w : f32[3]
       %a = Sub(%x, %w)
       %b = Sub(%w, %x)
       %y = Mul(%a, %b)
       output %y)"},
    {"eliminate_duplicate_nodes", "the operator differs", R"(
       input %x : f32[3]
       %a = Sin(%x)
       %b = Cos(%x)
       %y = Mul(%a, %b)
       output %y)"},
    {"eliminate_duplicate_nodes", "each draws random numbers of its own", R"(
       %a = RandomNormal() {shape = [3]}
       %b = RandomNormal() {shape = [3]}
       %y = Mul(%a, %b)
       output %y)"},
    {"remove_empty_concat_inputs", "no input is empty along the axis", R"(
       input %x : f32[2,3]
       input %w : f32[1,3]
       %y = Concat(%x, %w) {axis = 0}
       output %y)"},
    {"eliminate_nop_if", "the run decides", R"(
       input %x : f32[2]
       input %c : bool[]
       %y : f32[2] = If(%c) {
         then_branch = graph "t" { %t : f32[2] = Relu(%x) output %t },
         else_branch = graph "e" { %e : f32[2] = Neg(%x) output %e }}
       output %y)"},
};

INSTANTIATE_TEST_SUITE_P(Cleanup, WhatDoesSomething, testing::ValuesIn(kKept),
                         [](const testing::TestParamInfo<Kept>& kept) {
                           std::string name = fmt::format("{}_{}", kept.param.pass, kept.param.why);
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

TEST(EliminateNop, RemovesANodeWithoutEffectForAnyShape) {
  expect_ops({"eliminate_nop_transpose", "eliminate_nop_cast", "eliminate_nop_expand",
              "eliminate_nop_tile", "eliminate_nop_pad", "eliminate_nop_slice",
              "eliminate_nop_dropout", "eliminate_unused_initializer"},
             R"(
    input %x : f32[3]
    const %one : s64[1] = [1]
    const %none : s64[2] = [0, 0]
    const %begin : s64[1] = [0]
    const %end : s64[1] = [3]
    const %ratio : f32[] = 0.5
    const %no : bool[] = false
    %a = Transpose(%x)
    %b = Cast(%a) {to = 1}
    %c = Expand(%b, %one)
    %d = Tile(%c, %one)
    %e = Pad(%d, %none)
    %f = Slice(%e, %begin, %end, %begin, %one)
    %g = Dropout(%f)
    %h = Dropout(%g, %ratio, %no)
    %y = Neg(%h)
    output %y
  )",
             "Neg");
}

TEST(EliminateNopDropout, TrainingOfOldOpsetsStays) {
  const char* text = R"(
    input %x : f32[3]
    %y = Dropout(%x) {is_test = 0}
    %z = Relu(%y)
    output %z
  )";
  expect_unchanged({"eliminate_nop_dropout"}, text, 6);
  const auto graph = parsed(R"(
    input %x : f32[3]
    %y = Dropout(%x) {is_test = 1}
    %z = Relu(%y)
    output %z
  )",
                            6);
  run(*graph, {"eliminate_nop_dropout"});
  EXPECT_EQ(ops_of(*graph), "Relu");
}

TEST(EliminateNopArithmetic, IntegersAndScalarsOfUnknownShapes) {
  const auto graph = parsed(R"(
    input %x : s64[N,3]
    const %zero : s64[] = 0
    const %one : s64[1] = [1]
    %a = Add(%x, %zero)
    %b = Mul(%one, %a)
    %c = Neg(%b)
    output %c
  )");
  run(*graph, {"eliminate_nop_arithmetic"});
  EXPECT_EQ(ops_of(*graph), "Neg");
}

TEST(EliminateDeadend, NodesWithMemoryStay) {
  const auto graph = parsed(R"(
    input %x : f32[2,3]
    const %step : s32[] = 0
    %a = poprt.Shift(%step, %x) {length = 4, axis = 0, poprt_state = 0}
    %y = Relu(%x)
    output %y
  )");
  run(*graph, {"eliminate_deadend"});
  EXPECT_EQ(graph->nodes().size(), 2u);
}

TEST(EliminateDeadend, KeepsABranchWithState) {
  const auto graph = parsed(R"(
    input %step : s32[]
    input %c : bool[]
    input %x : f32[2]
    %y = Neg(%x)
    %z = If(%c) {
      then_branch = graph "t" { %k : f32[4] = poprt.Shift(%step, %x) {length = 4, axis = 0, poprt_state = 0} output %k },
      else_branch = graph "e" { %e : f32[4] = Concat(%x, %x) {axis = 0} output %e }}
    output %y
  )");
  run(*graph, {"eliminate_deadend"});
  EXPECT_EQ(ops_of(*graph), "Neg If");
}

TEST(EliminateDeadend, KeepsValuesReadByASubgraph) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[2]
    input %c : bool[]
    %a : f32[2] = Relu(%x)
    %b : f32[2] = Exp(%x)
    %y : f32[2] = If(%c) {
      then_branch = graph "t" { %u : f32[2] = Sin(%a) %t : f32[2] = Neg(%a) output %t },
      else_branch = graph "e" { %e : f32[2] = Identity(%x) output %e }}
    output %y
  })");
  run(*graph, {"eliminate_deadend"});
  EXPECT_EQ(ops_of(*graph), "Relu If");
  const auto& then =
      std::get<std::shared_ptr<ir::Graph>>(*graph->nodes()[1]->find_attr("then_branch"));
  EXPECT_EQ(ops_of(*then), "Neg");
}

TEST(EliminateUnusedInitializer, ADefaultOfAnInputStays) {
  auto graph = parsed("input %x : f32[2]\ninput %w : f32[2]\n%y = Relu(%x)\noutput %y");
  graph->find("w")->set_constant(Tensor::zeros(DType::f32, {2}));
  run(*graph, {"eliminate_unused_initializer", "eliminate_duplicate_initializer"});
  EXPECT_EQ(graph->inputs().size(), 2u);
  EXPECT_NE(graph->find("w"), nullptr);
}

TEST(EliminateDuplicateInitializer, ADefaultOfAnInputIsNotShared) {
  auto graph = parsed(R"(
    input %w : f32[2]
    const %v : f32[2] = [0.0, 0.0]
    %y = Add(%w, %v)
    output %y)");
  graph->find("w")->set_constant(Tensor::zeros(DType::f32, {2}));
  const std::string before = ir::to_text(*graph);
  run(*graph, {"eliminate_duplicate_initializer"});
  EXPECT_EQ(ir::to_text(*graph), before);
}

TEST(EliminateDuplicateNodes, EveryKindOfAttributeAndSeveralOutputs) {
  expect_ops({"eliminate_duplicate_nodes"}, R"(
    input %x : f32[1,1,4,2]
    const %scales : f32[4] = [1.0, 1.0, 2.0, 2.0]
    %a = Resize(%x, _, %scales) {mode = "linear"}
    %b = Resize(%x, _, %scales) {mode = "linear"}
    %c = Elu(%a) {alpha = 2.0}
    %d = Elu(%b) {alpha = 2.0}
    %e, %f = Split(%c) {axis = 2}
    %g, %h = Split(%d) {axis = 2}
    %i = Sub(%e, %g)
    %j = Sub(%f, %h)
    %y = Add(%i, %j)
    output %y
  )",
             "Resize Elu Split Sub Sub Add");
}

TEST(RemoveEmptyConcatInputs, EmptyOnesGoAndOneIsKept) {
  const auto graph = parsed(R"(
    input %x : f32[2,3]
    input %none : f32[2,0]
    input %void : f32[2,0]
    %a = Concat(%none, %x, %void) {axis = -1}
    %b = Concat(%none, %void) {axis = 1}
    output %a
    output %b
  )");
  run(*graph, {"remove_empty_concat_inputs"});
  const auto nodes = graph->nodes();
  ASSERT_EQ(nodes[0]->inputs().size(), 1u);
  EXPECT_EQ(nodes[0]->input(0)->name(), "x");
  ASSERT_EQ(nodes[1]->inputs().size(), 1u);
  EXPECT_EQ(nodes[1]->input(0)->name(), "none");
}

std::unique_ptr<ir::Graph> inlined(std::string_view condition, std::string_view then,
                                   std::string_view otherwise, std::string_view rest) {
  auto graph =
      ir::parse_text(fmt::format(R"(graph "g" opset {{"": 17}} {{
    input %x : f32[2]
    const %c : bool[] = {}
    %a : f32[2] = Relu(%x)
    {}If(%c) {{ then_branch = graph "t" {{ {} }}, else_branch = graph "e" {{ {} }}}}
    {}
  }})",
                                 condition, "%y : f32[2], %z : f32[2] = ", then, otherwise, rest));
  run(*graph, {"eliminate_nop_if"});
  return graph;
}

TEST(EliminateNopIf, TheOtherBranchWhenTheConditionIsFalse) {
  const auto graph = inlined("false", "%t : f32[2] = Exp(%a) output %t output %t",
                             "const %w : f32[2] = [1.0, 2.0] %e : f32[2] = Add(%a, %w) \"sum\" "
                             "%f : f32[2] = Neg(%x) output %e output %f",
                             "output %y output %z");
  EXPECT_EQ(ops_of(*graph), "Relu Add Neg");
  EXPECT_EQ(graph->nodes()[1]->name, "sum");
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  EXPECT_EQ(graph->outputs()[1]->name(), "z");
  EXPECT_EQ(graph->outputs()[0]->producer(), graph->nodes()[1]);
}

TEST(EliminateNopIf, OuterValuesAndOneValueTwiceStillGiveEveryOutput) {
  const auto graph = inlined("true", "%s : f32[2] = Exp(%a) output %s output %s",
                             "%e : f32[2] = Neg(%x) output %e output %e", "output %y output %z");
  EXPECT_EQ(ops_of(*graph), "Relu Exp Identity");
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  EXPECT_EQ(graph->outputs()[1]->name(), "z");
  EXPECT_EQ(graph->outputs()[1]->producer()->op_type, "Identity");
}

TEST(ExtractConstant, EveryKindOfValue) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    %a = Constant() {value_int = 7}
    %b = Constant() {value_float = 1.5}
    %c = Constant() {value_floats = [1.5, 2.5]}
    %d = Constant() {value_string = "one"}
    %e = Constant() {value_strings = ["one", "two"]}
    %f = Constant() {value = s32[1,2] [3, 4]}
    %g = Constant() {value_int = 9}
    %h = Identity(%a)
    %i = Identity(%b)
    %j = Identity(%c)
    %k = Identity(%d)
    %l = Identity(%e)
    %m = Identity(%f)
    output %g
    output %h
    output %i
    output %j
    output %k
    output %l
    output %m
  })");
  run(*graph, {"extract_constant_to_initializer"});
  EXPECT_EQ(ops_of(*graph), "Constant Identity Identity Identity Identity Identity Identity");
  const auto tensor = [&](const char* name) { return graph->find(name)->constant(); };
  EXPECT_TRUE(tensor("a").same_as(Tensor::scalar<int64_t>(7)));
  EXPECT_TRUE(tensor("b").same_as(Tensor::scalar<float>(1.5f)));
  EXPECT_TRUE(tensor("c").same_as(Tensor::of<float>({2}, {1.5f, 2.5f})));
  EXPECT_TRUE(tensor("d").same_as(Tensor::strings({}, {"one"})));
  EXPECT_TRUE(tensor("e").same_as(Tensor::strings({2}, {"one", "two"})));
  EXPECT_TRUE(tensor("f").same_as(Tensor::of<int32_t>({1, 2}, {3, 4})));
  EXPECT_FALSE(graph->find("g")->is_constant());
}

TEST(SortGraph, SubgraphsToo) {
  const auto sorted = parsed(R"(
    input %x : f32[2]
    input %c : bool[]
    %a = Relu(%x)
    %b = Neg(%a)
    %i : f32[2] = If(%c) {
      then_branch = graph "t" { %t0 : f32[2] = Exp(%x) %t1 : f32[2] = Neg(%t0) output %t1 },
      else_branch = graph "e" { %e : f32[2] = Neg(%x) output %e }}
    %y = Add(%b, %i)
    output %y
  )");
  const auto graph = sorted->clone();
  const auto nodes = graph->nodes();
  graph->move_before(nodes[3], nodes[0]);
  graph->move_before(nodes[1], nodes[0]);
  const auto branch = std::get<std::shared_ptr<ir::Graph>>(nodes[2]->attributes.at("then_branch"));
  branch->move_before(branch->nodes()[1], branch->nodes()[0]);
  run(*graph, {"sort_graph"});
  EXPECT_EQ(ops_of(*graph), "Relu Neg If Add");
  EXPECT_EQ(ops_of(*std::get<std::shared_ptr<ir::Graph>>(
                graph->nodes()[2]->attributes.at("then_branch"))),
            "Exp Neg");
  for (const bool taken : {false, true}) {
    auto feeds = random_feeds(*sorted);
    feeds["c"] = Tensor::of<bool>({}, {taken});
    expect_close(evaluate_graph(*sorted, feeds).at("y"), evaluate_graph(*graph, feeds).at("y"), 0);
  }
}

TEST(UniqueNames, ANameThatIsTakenIsPassedOver) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[2]
    %a : f32[2] = Relu(%x) "n"
    %b : f32[2] = Relu(%a) "n_0"
    %y : f32[2] = Relu(%b) "n"
    output %y
  })");
  run(*graph, {"unique_name_for_nodes"});
  const auto nodes = graph->nodes();
  EXPECT_EQ(nodes[1]->name, "n_0");
  EXPECT_EQ(nodes[2]->name, "n_1");
}

// Every pass observes the limit of rewrites.
TEST(Cleanup, LimitOfZeroRewritesLeavesGraphsUnchanged) {
  for (const char* pass :
       {"eliminate_identity", "eliminate_deadend", "eliminate_nop_arithmetic", "eliminate_nop_cast",
        "eliminate_unused_initializer", "eliminate_duplicate_initializer",
        "eliminate_duplicate_nodes", "extract_constant_to_initializer", "unique_name_for_nodes"}) {
    const auto graph = parsed(R"(
      input %x : f32[2]
      const %zero : f32[2] = [0.0, 0.0]
      const %zero_2 : f32[2] = [0.0, 0.0]
      const %unused : f32[1] = [5.0]
      %k = Constant() {value_floats = [1.0, 1.0]}
      %a = Identity(%x)
      %b = Cast(%a) {to = 1}
      %c = Add(%b, %zero)
      %d = Add(%c, %zero_2)
      %e = Mul(%d, %k)
      %f = Mul(%d, %k)
      %dead = Neg(%x)
      %y = Sub(%e, %f)
      output %y
    )");
    const std::string before = ir::to_text(*graph);
    passes::PassContext context;
    context.rewrite_limit = 0;
    passes::pass_of(pass).run(*graph, context);
    EXPECT_EQ(ir::to_text(*graph), before) << pass;
    EXPECT_EQ(context.rewrites_done, 0) << pass;
    context.rewrite_limit = 1;
    passes::pass_of(pass).run(*graph, context);
    EXPECT_NE(ir::to_text(*graph), before) << pass;
    EXPECT_EQ(context.rewrites_done, 1) << pass;
  }
}

// A program that tries each number for each node exceeds the time limit of the test.
TEST(Cleanup, TwoHundredThousandNodesWithoutANameGetOneEach) {
  constexpr int kNodes = 200'000;
  ir::Graph g;
  g.opsets = {{"", 17}};
  ir::Value* last = g.add_input("x", ir::ValueType::of(DType::f32, {1}));
  for (int i = 0; i < kNodes; i++) last = g.add_node("Relu", "", {last}, 1)->output();
  g.add_output(last);
  run(g, {"unique_name_for_nodes"});
  EXPECT_EQ(g.nodes().front()->name, "Relu_0");
  EXPECT_EQ(g.nodes().back()->name, fmt::format("Relu_{}", kNodes - 1));
}

}  // namespace
}  // namespace poprt::test
