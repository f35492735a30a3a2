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

// Returns the real part of a value of variable size, according to output NAME:shape.
std::vector<float> floats_of_result(const Values& got, const std::string& name) {
  const auto all = got.at(name).to_doubles();
  const int64_t size = got.at(name + ":shape").values<int64_t>()[0];
  return {all.begin(), all.begin() + size};
}

TEST(Branches, ResultsOfTwoLengthsHaveOneBoundAndOneSize) {
  const Executable e = compile_body(R"(
    input %c : bool[]
    input %x : f32[4]
    %y : ? = If(%c) {
      then_branch = graph "t" { %a : ? = Concat(%x, %x) {axis = 0} output %a },
      else_branch = graph "e" { %b : ? = Neg(%x) output %b }}
    output %y
  )");
  const Tensor x = floats({4});
  const std::vector<float> v = values(x);
  const Values yes = run(e, {{"c", Tensor::scalar(true)}, {"x", x}});
  EXPECT_EQ(yes.at("y").shape(), (Shape{8}));
  EXPECT_EQ(floats_of_result(yes, "y"),
            (std::vector<float>{v[0], v[1], v[2], v[3], v[0], v[1], v[2], v[3]}));
  const Values no = run(e, {{"c", Tensor::scalar(false)}, {"x", x}});
  EXPECT_EQ(floats_of_result(no, "y"), (std::vector<float>{-v[0], -v[1], -v[2], -v[3]}));
}

// optimum merges a decoder with and without a past in this way: the branch that uses the encoder's
// cache unchanged returns a dummy.
TEST(Branches, AnEmptyResultMayDifferInAnyAxis) {
  const Executable e = compile_body(R"(
    input %c : bool[]
    input %x : f32[1,3,2]
    const %none : f32[0,1,2] = []
    %y : ? = If(%c) {
      then_branch = graph "t" { %a : ? = Identity(%none) output %a },
      else_branch = graph "e" { %b : ? = Neg(%x) output %b }}
    output %y
  )");
  const Tensor x = floats({1, 3, 2});
  const Values yes = run(e, {{"c", Tensor::scalar(true)}, {"x", x}});
  EXPECT_EQ(yes.at("y:shape").to_int64s(), (std::vector<int64_t>{0, 3, 2}));
  const Values no = run(e, {{"c", Tensor::scalar(false)}, {"x", x}});
  EXPECT_EQ(no.at("y:shape").to_int64s(), (std::vector<int64_t>{1, 3, 2}));
  for (size_t i = 0; i < 6; i++) EXPECT_EQ(no.at("y").to_doubles()[i], -x.to_doubles()[i]);
}

// A reader of the result would see 7 columns instead of 3.
TEST(Branches, AnEmptyResultOfAnotherShapeIsNotRead) {
  EXPECT_EQ(code_of(R"(
    input %c : bool[]
    input %x : f32[5,7]
    const %none : f32[0,3] = []
    %z : ? = If(%c) {
      then_branch = graph "t" { %a : ? = Identity(%none) output %a },
      else_branch = graph "e" { %b : ? = Neg(%x) output %b }}
    %y : ? = Shape(%z)
    output %y
  )"),
            ErrorCode::unimplemented);
}

// torchvision exports such a branch for boxes.numel() == 0.
TEST(Branches, OneBranchMayHaveASizeThatDependsOnData) {
  const std::string body = R"(
    input %x : f32[6]
    const %none : s64[] = 0
    const %flat : s64[1] = [-1]
    %at : ? = NonZero(%x)
    %numbers : ? = Reshape(%at, %flat)
    %count : ? = Size(%numbers)
    %empty : ? = Equal(%count, %none)
    %y : ? = If(%empty) {
      then_branch = graph "t" { const %a : s64[0] = [] output %a },
      else_branch = graph "e" { %b : ? = Identity(%numbers) output %b }}
    const %zero : s64[1] = [0]
    %sum : ? = ReduceSum(%y, %zero)
    output %y
    output %sum
  )";
  // The branches are exchanged.
  std::string turned = replaced(body, "then_branch", "first");
  turned = replaced(turned, "else_branch", "then_branch");
  turned = replaced(turned, "first", "else_branch");
  turned = replaced(turned, "Equal(%count, %none)", "Greater(%count, %none)");
  for (const std::string& text : {body, turned}) {
    const Executable e = compile_body(text);
    const Values some = run(e, {{"x", Tensor::of<float>({6}, {{0, 3, 0, 0, 5, 7}})}});
    EXPECT_EQ(floats_of_result(some, "y"), (std::vector<float>{1, 4, 5}));
    EXPECT_EQ(some.at("sum").values<int64_t>()[0], 10);
    const Values all_zero = run(e, {{"x", Tensor::of<float>({6}, {{0, 0, 0, 0, 0, 0}})}});
    EXPECT_EQ(floats_of_result(all_zero, "y"), (std::vector<float>{}));
    EXPECT_EQ(all_zero.at("sum").values<int64_t>()[0], 0);
  }
}

TEST(Branches, TheSecondAxisMayBeTheUnevenOne) {
  const Executable e = compile_body(R"(
    input %c : bool[]
    input %x : f32[2,3]
    %y : ? = If(%c) {
      then_branch = graph "t" { %a : ? = Concat(%x, %x) {axis = 1} output %a },
      else_branch = graph "e" { %b : ? = Identity(%x) output %b }}
    const %one : s64[1] = [1]
    %z : ? = ReduceSum(%y, %one) {keepdims = 0}
    output %z
  )");
  const Tensor x = floats({2, 3});
  const auto v = x.values<float>();
  for (const bool c : {true, false}) {
    const Values got = run(e, {{"c", Tensor::scalar(c)}, {"x", x}});
    for (size_t r = 0; r < 2; r++)
      EXPECT_NEAR(got.at("z").values<float>()[r],
                  (c ? 2 : 1) * (v[3 * r] + v[3 * r + 1] + v[3 * r + 2]), 1e-5);
  }
}

TEST(Branches, ResultsThatDifferInMoreNeedAConstantCondition) {
  for (const auto& [other, code] : {std::pair("Unsqueeze(%x, %axes)", ErrorCode::unimplemented),
                                    std::pair("Tile(%x, %axes)", ErrorCode::unimplemented),
                                    std::pair("Greater(%x, %x)", ErrorCode::invalid_argument)})
    EXPECT_EQ(code_of(replaced(R"(
    input %c : bool[]
    input %x : f32[4,4]
    const %axes : s64[2] = [2, 3]
    %y : ? = If(%c) {
      then_branch = graph "t" { %a : ? = OTHER output %a },
      else_branch = graph "e" { %b : ? = Neg(%x) output %b }}
    output %y
  )",
                               "OTHER", other)),
              code)
        << other;
}

// The results of two branches for f32[4,4], and the messages for results that do not fit.
TEST(Branches, ErrorsNameMismatchedResults) {
  const auto refusal = [](const std::string& yes, const std::string& no) -> std::string {
    try {
      compile_body(R"(
    input %c : bool[]
    input %x : f32[4,4]
    const %axes : s64[1] = [0]
    const %two : s64[2] = [2, 2]
    %y : ? = If(%c) {
      then_branch = graph "t" { %a : ? = )" +
                   yes + R"( output %a },
      else_branch = graph "e" { %b : ? = )" +
                   no + R"( output %b }}
    output %y
  )");
    } catch (const Error& e) {
      return e.message();
    }
    return "";
  };
  const std::string same = "Neg(%x)", taller = "Unsqueeze(%x, %axes)", both = "Tile(%x, %two)",
                    wider = "Concat(%x, %x) {axis = 1}", wide_doubles = "Cast(%x) {to = 11}";
  EXPECT_EQ(refusal(same, same), "");
  EXPECT_EQ(refusal(same, wider), "");
  for (const auto& [other, type] :
       {std::pair{taller, "f32[1,4,4]"}, {both, "f32[8,8]"}, {wide_doubles, "f64[4,4]"}}) {
    const std::string expected = refusal(same, other), turned = refusal(other, same);
    for (const std::string& message : {expected, turned}) {
      EXPECT_NE(message.find("f32[4,4]"), std::string::npos) << message;
      EXPECT_NE(message.find(type), std::string::npos) << message;
    }
    EXPECT_LT(expected.find("f32[4,4]"), expected.find(type)) << expected;
    EXPECT_GT(turned.find("f32[4,4]"), turned.find(type)) << turned;
  }
}

TEST(Branches, AModelThatIsOnlyConvertedKeepsBranchesOfAnyShape) {
  for (const char* other : {"Unsqueeze(%x, %axes)", "Tile(%x, %axes)", "Neg(%x)"}) {
    const auto graph = ir::parse_text(graph_text(replaced(R"(
    input %c : bool[]
    input %x : f32[4]
    const %axes : s64[1] = [1]
    %y : ? = If(%c) {
      then_branch = graph "t" { %a : ? = OTHER output %a },
      else_branch = graph "e" { %b : ? = Neg(%x) output %b }}
    output %y
  )",
                                                          "OTHER", other)));
    Options options;
    options.keep_onnx = true;
    EXPECT_NO_THROW(convert(*graph, options)) << other;
  }
}

TEST(Branches, ResultsAreAsManyAsTheNodeHas) {
  const auto message_for = [](const std::string& node) -> std::string {
    try {
      test::compile_text(
          "graph \"g\" opset {\"\": 17, \"ai.graphcore\": 1} {\ninput %c : bool[]\ninput %x : "
          "f32[2]\n" +
          node + "\noutput %y\n}");
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.message();
      return e.message();
    }
    return "";
  };
  const auto call = [&](const std::string& outputs) {
    return message_for(
        outputs +
        " = ai.graphcore.Call(%x) {callee = graph \"c\" { input %a : f32[2] %n : ? = "
        "Neg(%a) %m : ? = Abs(%a) output %n output %m }} \"called\"");
  };
  EXPECT_EQ(call("%y : ?, %z : ?"), "");
  EXPECT_NE(call("%y : ?").find("the subgraph has 2 outputs, the node 1"), std::string::npos)
      << call("%y : ?");
  EXPECT_NE(call("%y : ?, %z : ?, %w : ?").find("the subgraph has 2 outputs, the node 3"),
            std::string::npos);
  const auto choice = [&](const std::string& outputs) {
    return message_for(
        outputs +
        " = If(%c) {then_branch = graph \"t\" { %n : ? = Neg(%x) output %n output %n "
        "}, else_branch = graph \"e\" { %m : ? = Abs(%x) output %m output %m }}");
  };
  EXPECT_EQ(choice("%y : ?, %z : ?"), "");
  EXPECT_NE(choice("%y : ?"), "");
  EXPECT_NE(choice("%y : ?, %z : ?, %w : ?"), "");
}

// The lengths of a result in both branches may differ or be equal. A shorter result is followed by
// zeros.
TEST(Branches, EveryResultHasItsOwnLength) {
  const std::string body = R"(
    %y : ?, %z : ?, %w : ? = If(%c) {
      then_branch = graph "t" { %a : ? = Concat(%x, %x) {axis = 0} %b : ? = Neg(%x) %d : ? = Abs(%x)
                                output %a output %b output %d },
      else_branch = graph "e" { %e : ? = Exp(%k) %f : ? = Concat(%k, %x) {axis = 0} %g : ? = Neg(%x)
                                output %e output %f output %g }}
    output %y
    output %z
    output %w
  )";
  const std::string inputs = "input %c : bool[]\ninput %x : f32[2]\ninput %k : f32[1]\n";
  const Executable e = compile_body(inputs + body);
  const Values feeds = {{"x", Tensor::of<float>({2}, {1, -2})}, {"k", Tensor::of<float>({1}, {0})}};
  for (const bool c : {true, false}) {
    Values all = feeds;
    all["c"] = Tensor::scalar(c);
    const Values got = run(e, all);
    EXPECT_FALSE(got.contains("w:shape"));
    EXPECT_EQ(got.at("y:shape").to_int64s(), std::vector<int64_t>{c ? 4 : 1});
    EXPECT_EQ(got.at("z:shape").to_int64s(), std::vector<int64_t>{c ? 2 : 3});
    EXPECT_EQ(values(got.at("y")),
              c ? (std::vector<float>{1, -2, 1, -2}) : (std::vector<float>{1, 0, 0, 0}));
    EXPECT_EQ(values(got.at("z")),
              c ? (std::vector<float>{-1, 2, 0}) : (std::vector<float>{0, 1, -2}));
    EXPECT_EQ(values(got.at("w")), c ? (std::vector<float>{1, 2}) : (std::vector<float>{-1, 2}));
  }
}

TEST(Branches, AConditionIsATensorOfOneElement) {
  const auto with = [](const std::string& condition) {
    return code_of("input %a : bool[]\ninput %b : bool[2]\ninput %x : f32[4]\n" + condition + R"(
    %y : ? = If(%c) {
      then_branch = graph "t" { %t : ? = Abs(%x) output %t },
      else_branch = graph "e" { %e : ? = Neg(%x) output %e }}
    output %y
  )");
  };
  EXPECT_EQ(with("%c : ? = Identity(%a)"), ErrorCode::ok);
  EXPECT_EQ(with("%c : ? = SequenceConstruct(%a, %a)"), ErrorCode::invalid_argument);
  EXPECT_NE(with("%c : ? = Identity(%b)"), ErrorCode::ok);
}

}  // namespace
}  // namespace poprt::compiler
