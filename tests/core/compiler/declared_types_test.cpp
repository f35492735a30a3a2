#include "compiler/declared_types.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "compiler/compiler.h"
#include "ir/text.h"
#include "ir/types_agree.h"

namespace poprt::compiler {
namespace {

// Returns the message of convert() for a graph, by default with `strict`, or "" if it is accepted.
std::string message_of_conversion(const std::string& body, Options options = {.strict = true}) {
  const auto graph =
      ir::parse_text("graph \"g\" opset {\"\": 17, \"ai.graphcore\": 1} {\n" + body + "}\n");
  try {
    convert(*graph, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.message();
    return e.message();
  }
  return "";
}

void expect_conversion_message(const std::string& fact, const std::string& body,
                               Options options = {.strict = true}) {
  const std::string error_text = message_of_conversion(body, std::move(options));
  EXPECT_NE(error_text.find(fact), std::string::npos) << fact << "\nin: " << error_text;
}

TEST(DeclaredTypes, AnotherNumberRankOrElementTypeIsRefusedWithBothSides) {
  const auto body = [](const std::string& type) {
    return "input %x : f32[2,3]\n%m : " + type + " = Relu(%x)\n%y : ? = Neg(%m)\noutput %y\n";
  };
  expect_conversion_message("output 'm' is declared f32[2,4] but comes out as f32[2,3]",
                            body("f32[2,4]"));
  expect_conversion_message("output 'm' is declared f32[6] but comes out as f32[2,3]",
                            body("f32[6]"));
  expect_conversion_message("output 'm' is declared s64[2,3] but comes out as f32[2,3]",
                            body("s64[2,3]"));
  for (const char* type : {"f32[2,3]", "?", "f32[*]", "f32[N,3]", "f32[?,?]"})
    EXPECT_EQ(message_of_conversion(body(type)), "") << type;
}

// This holds for models with and without open dimensions of inputs.
TEST(DeclaredTypes, OtherShapesAreOneWarningUnlessStrict) {
  const std::string rest =
      "%m : f32[1,3] = Relu(%x)\n%n : f32[6] = Abs(%m)\n%y : f32[1,3] = Neg(%n)\noutput %y\n";
  for (const char* x : {"N", "2"}) {
    const std::string body = std::string("input %x : f32[") + x + ",3]\n" + rest;
    Options options{.input_shape = {{"x", {2, 3}}}};
    const auto graph = ir::parse_text("graph \"g\" opset {\"\": 17} {\n" + body + "}\n");
    static std::vector<std::string> warnings;
    warnings.clear();
    set_log_receiver([](int32_t, const char* message) { warnings.push_back(message); });
    convert(*graph, options);
    set_log_receiver(nullptr);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("output 'm' is declared f32[1,3] but comes out as f32[2,3]; the "
                               "inferred shape is used"),
              std::string::npos)
        << warnings[0];
    EXPECT_EQ(graph->outputs()[0]->shape(), (Shape{2, 3}));
    options.strict = true;
    expect_conversion_message("output 'm' is declared f32[1,3] but comes out as f32[2,3]", body,
                              options);
  }
  EXPECT_EQ(message_of_conversion("input %x : f32[2,3]\n" + rest, {}), "");
}

TEST(DeclaredTypes, ABodyMayDeclareAnotherShapeOfItsInput) {
  const std::string body =
      "const %n : s64[] = 3\ninput %x : f32[4]\n%y : ? = Loop(%n, _, %x) {body = "
      "graph \"b\" {\ninput %i : s64[]\ninput %c : bool[]\ninput %s : f32[5]\n"
      "%t : ? = Neg(%s)\noutput %c\noutput %t\n}}\noutput %y\n";
  EXPECT_EQ(message_of_conversion(body, {}), "");
  expect_conversion_message("subgraph 'b': input 's' is declared f32[5] but is given f32[4]", body);
}

TEST(DeclaredTypes, OtherElementTypesAreRefusedWhetherStrictOrNot) {
  for (const bool strict : {false, true})
    EXPECT_NE(message_of_conversion("input %x : f32[2,3]\n%y : s64[2,3] = Relu(%x)\noutput %y\n",
                                    {.strict = strict}),
              "");
}

TEST(DeclaredTypes, AreComparedForTheChosenInputShapes) {
  const std::string body = "input %x : f32[N,3]\n%y : f32[1,3] = Relu(%x)\noutput %y\n";
  EXPECT_EQ(message_of_conversion(body, {.input_shape = {{"x", {1, 3}}}}), "");
  expect_conversion_message("output 'y' is declared f32[1,3] but comes out as f32[2,3]", body,
                            {.input_shape = {{"x", {2, 3}}}, .strict = true});
}

TEST(DeclaredTypes, AreComparedWithComputedShapes) {
  const auto body = [](const std::string& type) {
    return "input %x : f32[2,3]\nconst %turned : s64[2] = [1, 0]\n%s : ? = Shape(%x)\n"
           "%to : ? = Gather(%s, %turned)\n%m : " +
           type + " = Reshape(%x, %to)\n%y : ? = Neg(%m)\noutput %y\n";
  };
  EXPECT_EQ(message_of_conversion(body("f32[3,2]")), "");
  expect_conversion_message("output 'm' is declared f32[2,3] but comes out as f32[3,2]",
                            body("f32[2,3]"));
}

// onnx.shape_inference writes such types into models.
TEST(DeclaredTypes, IgnoresTheTypeThatOnnxInfersForStft) {
  const auto body = [](const std::string& attributes, const std::string& type) {
    return "input %x : f32[1,64,1]\nconst %step : s64[] = 8\nconst %length : s64[] = 16\n"
           "%s : f32[1,7,16,2] = STFT(%x, %step, _, %length) {" +
           attributes + "}\n%y : " + type + " = Neg(%s)\noutput %y\n";
  };
  EXPECT_EQ(message_of_conversion(body("", "f32[1,7,16,2]")), "");
  expect_conversion_message("output 's' is declared f32[1,7,16,2] but comes out as f32[1,7,9,2]",
                            body("onesided = 1", "?"));
  expect_conversion_message("output 'y' is declared s64[*] but comes out as f32[1,7,9,2]",
                            body("", "s64[1,7,16,2]"));
}

std::string branches(const std::string& condition, const std::string& otherwise) {
  return condition + " %c : bool[]" + (condition == "const" ? " = true" : "") + R"(
    input %x : f32[4]
    %y : ? = If(%c) {
      then_branch = graph "t" { %a : ? = Neg(%x) output %a },
      else_branch = graph "e" { )" +
         otherwise + R"( output %b }}
    output %y
)";
}

TEST(DeclaredTypes, BranchesHaveOneElementTypeTakenOrNot) {
  for (const char* condition : {"const", "input"}) {
    SCOPED_TRACE(condition);
    EXPECT_EQ(message_of_conversion(branches(condition, "%b : f32[4] = Relu(%x)")), "");
    expect_conversion_message("is f32[4] from then_branch and s64[4] from else_branch",
                              branches(condition, "%b : ? = Cast(%x) {to = 7}"));
    expect_conversion_message("output 'b' is declared f32[5] but comes out as f32[4]",
                              branches(condition, "%b : f32[5] = Relu(%x)"));
    expect_conversion_message("output 'i' is declared f32[1,4] but comes out as f32[4]",
                              branches(condition, "%i : f32[1,4] = Relu(%x) %b : ? = Relu(%i)"));
  }
}

TEST(DeclaredTypes, ABranchThatIsNotTakenHasOneTypeInEachNode) {
  const std::string error_text = message_of_conversion(branches(
      "const",
      "const %d : f64[4] = fill 1.0 const %zero : s64[] = 0 %q : ? = SequenceConstruct(%x, %d) "
      "%b : ? = SequenceAt(%q, %zero)"));
  EXPECT_NE(error_text.find("SequenceConstruct takes both of one type"), std::string::npos)
      << error_text;
}

TEST(DeclaredTypes, ABranchThatIsNotTakenMayHaveAnotherShapeOrFail) {
  EXPECT_EQ(message_of_conversion(branches("const", "%b : f32[8] = Concat(%x, %x) {axis = 0}")),
            "");
  // Exporters squeeze the axis in the branch in which its size is 1.
  EXPECT_EQ(message_of_conversion(
                branches("const", "const %zero : s64[1] = [0] %b : ? = Squeeze(%x, %zero)")),
            "");
}

std::string loop(const std::string& state, const std::string& step, int rounds = 3) {
  return "const %count : s64[] = " + std::to_string(rounds) + R"(
    const %go : bool[] = true
    input %x : f32[4]
    %y : ? = Loop(%count, %go, %x) {
      body = graph "b" {
        input %i : s64[]
        input %c : bool[]
        input %s : )" +
         state + "\n%k : ? = Identity(%c)\n" + step + R"(
        output %k
        output %t }}
    output %y
)";
}

TEST(DeclaredTypes, LoopBodiesKeepTheTypesOfTheirStates) {
  for (const int rounds : {0, 3}) {
    EXPECT_EQ(message_of_conversion(loop("f32[4]", "%t : ? = Neg(%s)", rounds)), "");
    EXPECT_EQ(message_of_conversion(loop("?", "%t : f32[4] = Neg(%s)", rounds)), "");
    expect_conversion_message("state 0 is f32[4] before the loop and f64[4] in the body, as 's'",
                              loop("f64[4]", "%t : ? = Neg(%s)", rounds));
    expect_conversion_message("state 0 is f32[4] before a round and s64[4] after it, as 't'",
                              loop("f32[4]", "%t : ? = Cast(%s) {to = 7}", rounds));
    expect_conversion_message("output 't' is declared f32[3] but comes out as f32[4]",
                              loop("f32[4]", "%t : f32[3] = Neg(%s)", rounds));
  }
  expect_conversion_message("subgraph 'b': input 's' is declared f32[5] but is given f32[4]",
                            loop("f32[5]", "%t : ? = Neg(%s)"));
}

TEST(DeclaredTypes, AStateMayGrowWhereItsSizeIsOpen) {
  EXPECT_EQ(message_of_conversion(loop("f32[?]", "%t : f32[N] = Concat(%s, %s) {axis = 0}")), "");
  expect_conversion_message("output 't' is declared f32[8] but comes out as f32[16]",
                            loop("f32[?]", "%t : f32[8] = Concat(%s, %s) {axis = 0}"));
}

TEST(DeclaredTypes, ASizeThatDependsOnDataMayBeLessThanItsBound) {
  const auto body = [](const std::string& type) {
    return "input %x : f32[2,3]\n%y : " + type + " = NonZero(%x)\noutput %y\n";
  };
  EXPECT_EQ(message_of_conversion(body("s64[2,5]")), "");
  EXPECT_EQ(message_of_conversion(body("s64[2,6]")), "");
  expect_conversion_message("output 'y' is declared s64[2,7] but comes out as s64[2,6]",
                            body("s64[2,7]"));
  expect_conversion_message("output 'y' is declared s64[3,5] but comes out as s64[2,?]",
                            body("s64[3,5]"));
}

TEST(DeclaredTypes, EverySizeThatDependsOnDataIsABound) {
  const std::string x = "input %x : f32[3,2]\ninput %c : bool[3]\n";
  for (const char* y : {"%y : f32[2,2] = Compress(%x, %c) {axis = 0}", "%y : f32[4] = Unique(%x)",
                        "%y : f32[1,2] = Unique(%x) {axis = 0}"})
    EXPECT_EQ(message_of_conversion(x + y + "\noutput %y\n"), "") << y;
  expect_conversion_message("output 'y' is declared f32[4,2] but comes out as f32[3,2]",
                            x + "%y : f32[4,2] = Compress(%x, %c) {axis = 0}\noutput %y\n");
  expect_conversion_message("output 'y' is declared f32[2,3] but comes out as f32[?,2]",
                            x + "%y : f32[2,3] = Compress(%x, %c) {axis = 0}\noutput %y\n");
  const auto boxes = [](const std::string& type) {
    return "input %boxes : f32[1,6,4]\ninput %scores : f32[1,1,6]\nconst %most : s64[] = 4\n%y : " +
           type + " = NonMaxSuppression(%boxes, %scores, %most)\noutput %y\n";
  };
  EXPECT_EQ(message_of_conversion(boxes("s64[2,3]")), "");
  expect_conversion_message("output 'y' is declared s64[9,3] but comes out as s64[4,3]",
                            boxes("s64[9,3]"));
}

// A loop of at most 40 rounds that its condition ends, with one state and what each round makes.
std::string early_loop(const std::string& last, const std::string& all) {
  return R"(
    input %x : f32[1]
    const %m : s64[] = 40
    const %yes : bool[] = true
    %y : )" +
         last + ", %all : " + all + R"( = Loop(%m, %yes, %x) {body = graph "b" {
      input %i : s64[]
      input %c : bool[]
      input %s : ?
      const %two : f32[] = 2.0
      %d : ? = Mul(%s, %two)
      %less : ? = Less(%d, %two)
      output %less
      output %d
      output %d
    }}
    output %y
    output %all
  )";
}

TEST(DeclaredTypes, ALoopThatEndsEarlyMayMakeFewerRowsThanItsTripCount) {
  EXPECT_EQ(message_of_conversion(early_loop("f32[1]", "f32[3,1]")), "");
  EXPECT_EQ(message_of_conversion(early_loop("f32[1]", "f32[40,1]")), "");
  expect_conversion_message("output 'all' is declared f32[41,1] but comes out as f32[40,1]",
                            early_loop("f32[1]", "f32[41,1]"));
  expect_conversion_message("output 'all' is declared f32[40,2] but comes out as",
                            early_loop("f32[1]", "f32[40,2]"));
  expect_conversion_message("output 'y' is declared f32[2] but comes out as f32[1]",
                            early_loop("f32[2]", "f32[3,1]"));
  expect_conversion_message("output 'y' is declared f32[0] but comes out as f32[1]",
                            early_loop("f32[0]", "f32[3,1]"));
}

// The message of convert() for a graph whose value `name` is a container for the importer.
std::string message_of_container(const std::string& declared, const std::string& body,
                                 const std::string& name = "y") {
  const auto graph = ir::parse_text("graph \"g\" opset {\"\": 17} {\ninput %x : f32[2]\n" + body +
                                    "output %y\n}\n");
  ir::Graph* at = graph.get();
  if (!at->find(name))
    ir::for_each_subgraph(*graph->nodes().back(), [&](ir::Graph& sub) {
      if (sub.find(name)) at = &sub;
    });
  at->metadata[ir::kDeclaredContainer + name] = declared;
  try {
    convert(*graph, {});
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.message();
    const size_t from = e.message().find("output '");
    return e.message().substr(from, e.message().find(';') - from);
  }
  EXPECT_FALSE(graph->metadata.contains(ir::kDeclaredContainer + name)) << "it is no property";
  return "";
}

TEST(DeclaredTypes, SequencesHoldTensorsOfTheDeclaredElementType) {
  const std::string body = "%y : ? = SequenceConstruct(%x, %x)\n";
  for (const char* fits : {"sequence f32[2]", "sequence f32[7,1]", "sequence f32[*]",
                           "sequence f32", "sequence ?", "optional_sequence f32[2]"})
    EXPECT_EQ(message_of_container(fits, body), "") << fits;
  for (const char* other :
       {"sequence s64[2]", "sequence s64", "sequence f64[*]", "optional_sequence f16[2]"})
    EXPECT_EQ(
        message_of_container(other, body),
        fmt::format("output 'y' is declared {} but comes out as a sequence with f32[2]", other));
  EXPECT_EQ(message_of_container("optional f32[2]", body),
            "output 'y' is declared optional f32[2] but comes out as a sequence");
  EXPECT_EQ(message_of_container("sequence f32[2]", "%y : ? = SequenceEmpty()\n"), "");
}

TEST(DeclaredTypes, AnOptionalIsItsElementAndATensorIsNoSequence) {
  for (const char* node : {"%y : ? = Optional(%x)\n", "%y : ? = Neg(%x)\n"}) {
    EXPECT_EQ(message_of_container("optional f32[2]", node), "") << node;
    EXPECT_EQ(message_of_container("optional ?", node), "") << node;
    EXPECT_EQ(message_of_container("optional s64[2]", node),
              "output 'y' is declared optional s64[2] but comes out as f32[2]");
    EXPECT_EQ(message_of_container("sequence f32[2]", node),
              "output 'y' is declared sequence f32[2] but comes out as f32[2]");
  }
}

TEST(DeclaredTypes, ContainersOfSubgraphsAreHeldToTheirDeclaration) {
  const std::string body = R"(
    const %c : bool[] = true
    %y : ? = If(%c) {then_branch = graph "t" { %a : ? = SequenceConstruct(%x) output %a },
                     else_branch = graph "e" { %b : ? = SequenceEmpty() output %b }}
)";
  EXPECT_EQ(message_of_container("sequence f32[2]", body, "a"), "");
  EXPECT_EQ(message_of_container("sequence s64[2]", body, "a"),
            "output 'a' is declared sequence s64[2] but comes out as a sequence with f32[2]");
}

// The iteration number and the condition of a loop are scalars, but may be declared as [1].
TEST(DeclaredTypes, AScalarMayEnterASubgraphAsOneElement) {
  const auto call = [](const std::string& declared) {
    return message_of_conversion(
        "input %x : f32[]\n%y : ? = ai.graphcore.Call(%x) {callee = graph \"c\" { input "
        "%a : " +
        declared + " %n : ? = Neg(%a) output %n }}\noutput %y\n");
  };
  for (const char* fits : {"?", "f32[]", "f32[1]", "f32[*]"}) EXPECT_EQ(call(fits), "") << fits;
  for (const char* other : {"f32[2]", "f32[1,1]", "s64[1]", "s64[]"})
    EXPECT_NE(call(other).find(fmt::format(
                  "subgraph 'c': input 'a' is declared {} but is given f32[]; correct the "
                  "declaration or remove it (value_info, the shape of an output)",
                  other)),
              std::string::npos)
        << call(other);
}

TEST(DeclaredTypes, ATensorIsNoSequence) {
  expect_conversion_message("output 'y' is declared f32[2] but comes out as a sequence",
                            "input %x : f32[2]\n%y : f32[2] = SequenceConstruct(%x)\noutput %y\n");
}

}  // namespace
}  // namespace poprt::compiler
