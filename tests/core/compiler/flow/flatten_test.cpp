// If and Loop become regions of nodes between markers, in graphs whose types are known.
#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include "core/compiler/flow/long_chain.h"
#include "core/compiler/flow/support.h"
#include "program/control.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

// "Op name" of each node, with the attributes of marks.
std::vector<std::string> flattened(const std::string& body) {
  const auto graph = ir::parse_text(graph_text(body));
  flatten_control_flow(*graph);
  std::vector<std::string> nodes;
  for (const ir::Node* n : graph->nodes()) {
    std::string text = n->op_type + " " + n->name;
    for (const auto& [key, value] : n->attributes) {
      if (const auto* number = std::get_if<int64_t>(&value))
        text += fmt::format(" {}={}", key, *number);
      if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
        text += fmt::format(" {}={}", key, fmt::join(*list, ","));
    }
    nodes.push_back(text);
  }
  return nodes;
}

std::string refused(const std::string& body) {
  try {
    flattened(body);
  } catch (const Error& e) {
    return fmt::format("{}: {}", error_code_name(e.code()), e.message());
  }
  return "taken";
}

std::string choice_of(const std::string& yes, const std::string& no,
                      const std::string& name = " \"choice\"") {
  return "input %c : bool[]\ninput %x : f32[2]\n%y : f32[2] = If(%c) {then_branch = graph \"t\" "
         "{ " +
         yes + " output %a }, else_branch = graph \"e\" { " + no + " output %b }}" + name +
         "\noutput %y\n";
}

using Nodes = std::vector<std::string>;

TEST(Flatten, EmitsBranchesOneAfterTheOther) {
  const std::string yes = "%a : f32[2] = Neg(%x)", no = "%b : f32[2] = Abs(%x) \"named\"";
  EXPECT_EQ(flattened(choice_of(yes, no)),
            (Nodes{"GuardBegin choice when=1", "Neg a", "GuardEnd choice",
                   "GuardBegin choice when=0", "Abs named", "GuardEnd choice", "Select choice"}));
  EXPECT_EQ(flattened(choice_of(yes, no, ""))[0], "GuardBegin y when=1") << "by its result";
}

// Select takes the condition, then the value for true.
TEST(Flatten, SelectReadsBothResults) {
  const auto graph = ir::parse_text(graph_text(choice_of(
      "%a : f32[2] = Neg(%x)", "const %k : f32[2] = [1.0, 2.0] %b : f32[2] = Add(%x, %k)")));
  flatten_control_flow(*graph);
  const ir::Node& select = *graph->nodes().back();
  ASSERT_EQ(select.inputs().size(), 3u);
  EXPECT_EQ(select.input(0)->name(), "c");
  EXPECT_EQ(select.input(1)->producer()->op_type, "Neg");
  EXPECT_EQ(select.input(2)->producer()->op_type, "Add");
  EXPECT_TRUE(select.input(2)->producer()->input(1)->is_constant());
  EXPECT_EQ(ir::type_string(select.output()->type), "f32[2]");
  EXPECT_EQ(graph->outputs()[0], select.output());
}

// A result that is not used needs no Select.
TEST(Flatten, OfAnUnspecifiedResultTheOtherIsTaken) {
  EXPECT_EQ(flattened(choice_of("%a : f32[2] = poprt.Unspecified() {dtype = 1, shape = [2]}",
                                "%b : f32[2] = Abs(%x)")),
            (Nodes{"GuardBegin choice when=1", "GuardEnd choice", "GuardBegin choice when=0",
                   "Abs b", "GuardEnd choice"}));
}

TEST(Flatten, BranchesOfTwoTypesAreRefused) {
  const auto message_for = [](const std::string& made) {
    return refused(choice_of("%a : f32[2] = Neg(%x)", "%b : " + made + " = Abs(%x)"));
  };
  const auto types = [](const std::string& other) {
    return "unimplemented: If node 'choice': its branches return f32[2] and " + other +
           "; both must have one static type, or the condition must be constant";
  };
  EXPECT_EQ(message_for("f32[3]"), types("f32[3]"));
  EXPECT_EQ(message_for("f64[2]"), types("f64[2]"));
  EXPECT_EQ(
      refused(choice_of("%a : f32[N] = Neg(%x)", "%b : f32[N] = Abs(%x)")),
      "unimplemented: If node 'choice': its branches return f32[N] and f32[N]; both must have "
      "one static type, or the condition must be constant");
}

// A loop over the states u [2] and v [2] with a scan output, of body nodes and its results.
std::string turns_of(const std::string& head, const std::string& count_and_condition,
                     const std::string& nodes, const std::string& condition, const std::string& u,
                     const std::string& v, const std::string& scanned) {
  return head +
         "input %x : f32[2]\ninput %z : f32[2]\n"
         "%p : f32[2], %q : f32[2], %s : f32[3,2] = Loop(" +
         count_and_condition +
         ", %x, %z) {body = graph \"b\" {\ninput %i : s64[]\ninput %c : bool[]\n"
         "input %u : f32[2]\ninput %v : f32[2]\n%n : f32[2] = Neg(%u)\n" +
         nodes + "output %" + condition + "\noutput %" + u + "\noutput %" + v + "\noutput %" +
         scanned + "\n}} \"turns\"\noutput %p\noutput %q\noutput %s\n";
}

TEST(Flatten, LoopMarksHoldTripCountAndMovedStates) {
  const std::string three = "const %m : s64[] = 3\n", given = "input %m : s64[]\n",
                    yes = "input %yes : bool[]\n", no = "const %no : bool[] = false\n";
  const auto marks = [](const Nodes& nodes) { return nodes.front() + " | " + nodes.back(); };
  // One state stays, and the other one is computed in each round.
  EXPECT_EQ(flattened(turns_of(three, "%m, _", "", "c", "n", "v", "n")),
            (Nodes{"LoopBegin turns clear=0 condition=0 most=3", "Neg n",
                   "LoopEnd turns stage= states=1"}));
  EXPECT_EQ(marks(flattened(turns_of(given, "%m, _", "", "c", "u", "v", "n"))),
            fmt::format("LoopBegin turns clear=1 condition=0 most={} | LoopEnd turns stage= "
                        "states=0",
                        program::kEveryRound));
  // Another move may overwrite a value before it is moved.
  EXPECT_EQ(marks(flattened(turns_of(three, "%m, _", "", "c", "v", "u", "n"))),
            "LoopBegin turns clear=0 condition=0 most=3 | LoopEnd turns stage=0,1 states=2");
  EXPECT_EQ(marks(flattened(turns_of(three, "%m, _", "", "c", "n", "u", "n"))),
            "LoopBegin turns clear=0 condition=0 most=3 | LoopEnd turns stage=1 states=2");
  const std::string views =
      "const %square : s64[2] = [1, 2]\nconst %flat : s64[1] = [2]\n"
      "%r : f32[1,2] = Reshape(%u, %square)\n%w : f32[2] = Reshape(%r, %flat)\n";
  EXPECT_EQ(marks(flattened(turns_of(three, "%m, _", views, "c", "n", "w", "n"))),
            "LoopBegin turns clear=0 condition=0 most=3 | LoopEnd turns stage=1 states=2")
      << "a view of the other";
  EXPECT_EQ(marks(flattened(turns_of(three, "%m, _", views, "c", "w", "v", "n"))),
            "LoopBegin turns clear=0 condition=0 most=3 | LoopEnd turns stage= states=0")
      << "a view of itself";
  // One condition is tested before every round, and the other one changes.
  EXPECT_EQ(marks(flattened(turns_of(three + yes, "%m, %yes", "", "c", "n", "v", "n"))),
            "LoopBegin turns clear=1 condition=0 most=3 | LoopEnd turns stage= states=1");
  EXPECT_EQ(marks(flattened(turns_of(three + no, "%m, %no", "", "c", "n", "v", "n"))),
            "LoopBegin turns clear=1 condition=0 most=3 | LoopEnd turns stage= states=1");
  const std::string less = "const %two : s64[] = 2\n%go : bool[] = Less(%i, %two)\n";
  EXPECT_EQ(marks(flattened(turns_of(three, "%m, _", less, "go", "n", "v", "n"))),
            "LoopBegin turns clear=1 condition=1 most=3 | LoopEnd turns stage= states=2");
  const std::string again = "%again : bool[] = Identity(%c)\n";
  EXPECT_EQ(marks(flattened(turns_of(three, "%m, _", again, "again", "n", "v", "n"))),
            "LoopBegin turns clear=0 condition=0 most=3 | LoopEnd turns stage= states=1");
  const std::string always = "const %on : bool[] = true\n";
  EXPECT_EQ(marks(flattened(turns_of(three, "%m, _", always, "on", "n", "v", "n"))),
            "LoopBegin turns clear=0 condition=0 most=3 | LoopEnd turns stage= states=1");
}

// LoopEnd reads the index and the pairs of moves, and keeps the tested condition alive.
TEST(Flatten, LoopEndReadsTheMovedValues) {
  const auto ends = [](const std::string& body) {
    const auto graph = ir::parse_text(graph_text(body));
    flatten_control_flow(*graph);
    const ir::Node &begin = *graph->nodes().front(), &end = *graph->nodes().back();
    std::vector<std::string> text;
    for (const ir::Value* v : end.inputs()) {
      const auto out = begin.outputs();
      const auto at = std::find(out.begin(), out.end(), v);
      text.push_back(at != out.end() ? fmt::format("{}", at - out.begin()) : v->name());
    }
    // The results of the loop are the final states of LoopBegin.
    for (const ir::Value* v : graph->outputs()) EXPECT_EQ(v->producer(), &begin);
    return fmt::format("{}", fmt::join(text, " "));
  };
  const std::string three = "const %m : s64[] = 3\n", yes = "input %yes : bool[]\n";
  EXPECT_EQ(ends(turns_of(three, "%m, _", "", "c", "n", "u", "n")), "0 n 1 1 2 n 3");
  EXPECT_EQ(ends(turns_of(three + yes, "%m, %yes", "", "c", "n", "v", "n")), "0 n 1 n 3 yes");
  EXPECT_EQ(ends(turns_of(three, "%m, _", "const %two : s64[] = 2\n%go : bool[] = Less(%i, %two)\n",
                          "go", "n", "v", "n")),
            "0 go 1 n 2 n 4");
}

TEST(Flatten, AConstantTripCountIsTheNumberOfRounds) {
  const auto most = [](const std::string& count) {
    const std::string begin = flattened(
        turns_of("const %m : s64[] = " + count + "\n", "%m, _", "", "c", "n", "v", "n"))[0];
    return begin.substr(begin.find("most="));
  };
  EXPECT_EQ(most("0"), "most=0");
  EXPECT_EQ(most("-7"), "most=0");
  EXPECT_EQ(most("20000000"), "most=20000000");
  EXPECT_EQ(most(std::to_string(INT64_MAX - 1)), fmt::format("most={}", INT64_MAX - 1));
}

TEST(Flatten, ALoopWithoutAnEndHasALimit) {
  const std::string yes = "input %yes : bool[]\n";
  EXPECT_EQ(flattened(turns_of("", "_, _", "", "c", "n", "v", "n"))[0],
            "LoopBegin turns clear=0 condition=0 limit=1 most=0");
  EXPECT_EQ(flattened(turns_of(yes, "_, %yes", "", "c", "n", "v", "n"))[0],
            "LoopBegin turns clear=1 condition=0 limit=1 most=0");
  EXPECT_EQ(
      flattened(turns_of(yes, "_, %yes", "const %two : s64[] = 2\n%go : bool[] = Less(%i, %two)\n",
                         "go", "n", "v", "n"))[0],
      fmt::format("LoopBegin turns clear=1 condition=1 most={}", INT64_MAX));
}

TEST(Flatten, ALoopThatDoesNotFitItsBodyIsRefused) {
  const std::string three = "const %m : s64[] = 3\n";
  const auto message_for = [&](const std::string& nodes, const std::string& u,
                               const std::string& scanned) {
    return refused(turns_of(three, "%m, _", nodes, "c", u, "v", scanned));
  };
  const auto holds = [](const std::string& made, const std::string& held) {
    return "unimplemented: Loop node 'turns': its body returns " + made +
           " but the loop state is " + held + "; both must have one static type";
  };
  EXPECT_EQ(message_for("", "n", "n"), "taken");
  for (const char* type : {"f32[3]", "f64[2]", "f32[1,2]", "f32[N]"}) {
    const std::string other = "%w : " + std::string(type) + " = Abs(%u)\n";
    EXPECT_EQ(message_for(other, "w", "n"), holds(type, "f32[2]"));
    EXPECT_EQ(message_for(other, "n", "w"), holds(type, "f32[3,2]"));
  }
  // A tensor of one element is a condition for any rank.
  EXPECT_EQ(refused(turns_of(three, "%m, _", "%go : bool[1] = Not(%c)\n", "go", "n", "v", "n")),
            "taken");
  EXPECT_EQ(refused(turns_of(three, "%m, _", "%go : bool[2] = Not(%c)\n", "go", "n", "v", "n")),
            holds("bool[2]", "bool[]"));
  EXPECT_EQ(refused(turns_of("const %m : s64[2] = [3, 4]\n", "%m, _", "", "c", "n", "v", "n")),
            "invalid_argument: Loop node 'turns': its trip count is not a scalar");
  EXPECT_EQ(refused("input %m : s64[]\ninput %x : f32[2]\n%y : f32[2] = Loop(%m, _, %x) {body = "
                    "graph \"b\" { input %i : s64[] input %c : bool[] output %c output %c }} "
                    "\"turns\"\noutput %y\n"),
            "invalid_argument: Loop node 'turns': its body has 2 inputs and 2 outputs, expected 3 "
            "and 2");
  EXPECT_EQ(refused("input %m : s64[]\ninput %x : f32[2]\n%y : f32[2] = Loop(%m, _, %x) {body = "
                    "graph \"b\" { input %i : s64[] input %c : bool[] input %u : f32[2] output %c "
                    "}} \"turns\"\noutput %y\n"),
            "invalid_argument: Loop node 'turns': its body has 3 inputs and 1 outputs, expected 3 "
            "and 2");
}

TEST(Flatten, ASubgraphThatIsMissingIsNamed) {
  EXPECT_EQ(refused("input %c : bool[]\n%y : f32[2] = If(%c) {then_branch = graph \"t\" { const %k "
                    ": f32[2] = [1.0, 2.0] output %k }} \"choice\"\noutput %y\n"),
            "invalid_argument: If node 'choice': attribute else_branch is missing");
}

// Nodes that only the interface of a body needs are removed, except those with a state.
TEST(Flatten, RemovesUnreadNodesExceptStates) {
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17, "ai.graphcore": 1} {
    input %step : s32[]
    input %x : f32[2]
    %a : f32[2] = Neg(%x)
    %b : f32[2] = Abs(%a)
    %k : f32[4] = ai.graphcore.KVCache(%step, %x) {max_len = 4}
    %c : f32[4] = Neg(%k)
    %y : f32[2] = Exp(%x)
    output %y
  })");
  flatten_control_flow(*graph);
  ASSERT_EQ(graph->nodes().size(), 2u);
  EXPECT_EQ(graph->nodes()[0]->op_type, "KVCache");
  EXPECT_EQ(graph->nodes()[1]->op_type, "Exp");
}

// The new states are views of each other's old ones, so both moves are delayed.
TEST(Flatten, AStateMayBeAViewThroughAVeryLongChain) {
  std::string body =
      "const %m : s64[] = 3\nconst %s : s64[1] = [2]\ninput %x : f32[2]\ninput %z : f32[2]\n"
      "%p : f32[2], %q : f32[2] = Loop(%m, _, %x, %z) {body = graph \"b\" {\ninput %i : s64[]\n"
      "input %c : bool[]\ninput %u : f32[2]\ninput %v : f32[2]\n" +
      long_chain("Reshape", "v", "n", ", %s", "f32[2]") +
      long_chain("Reshape", "u", "o", ", %s", "f32[2]") +
      "output %c\noutput %n\noutput %o\n}} \"turns\"\noutput %p\noutput %q\n";
  const std::vector<std::string> nodes = flattened(body);
  EXPECT_NE(nodes.back().find("LoopEnd turns stage=0,1 states=2"), std::string::npos)
      << nodes.back();
}

}  // namespace
}  // namespace poprt::compiler
