#include "ir/placement.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace poprt::ir {
namespace {

std::unique_ptr<Graph> graph_of(const std::string& body) {
  return parse_text("graph \"g\" {\n" + body + "\n}");
}

// Returns the placement ("ipu stage") of the nodes of `after` by their first result, if the nodes
// of `before` are already placed.
std::map<std::string, std::string> seats(const std::string& before, const std::string& after) {
  const Placement placement(*graph_of(before));
  const auto graph = graph_of(after);
  placement.restore(*graph);
  std::map<std::string, std::string> found;
  for (const Node* n : graph->nodes()) {
    const auto seat = seat_of(*n);
    found[n->output()->name()] =
        seat ? fmt::format("{} {}", seat->ipu, seat->stage) : std::string("none");
  }
  return found;
}

using Seats = std::map<std::string, std::string>;

TEST(Placement, ValuesAndNodesOfTheSameNameSitWhereTheyDid) {
  EXPECT_EQ(seats(R"(input %x : f32[2]
%a = Relu(%x) {__ipu_number = 1} "first"
%b = Neg(%a) {__ipu_number = 2} "second"
output %b)",
                  R"(input %x : f32[2]
%a = Exp(%x) "other"
%c = Abs(%x) "second"
%b = Add(%a, %c)
output %b)"),
            (Seats{{"a", "1 -1"}, {"c", "2 -1"}, {"b", "2 -1"}}));
}

TEST(Placement, NodesWithoutANameAreNotOneNode) {
  EXPECT_EQ(seats(R"(input %x : f32[2]
%a = Relu(%x) {__ipu_number = 3}
output %a)",
                  R"(input %x : f32[2]
%n = Neg(%x)
output %n)"),
            (Seats{{"n", "0 -1"}}))
      << "no placement is left";
}

TEST(Placement, AmbiguousNamesGiveNoPlacement) {
  const std::string before = R"(input %x : f32[2]
%a = Relu(%x) {__ipu_number = 1} "same"
%b = Neg(%x) {__ipu_number = 2} "same"
output %a
output %b)";
  EXPECT_EQ(seats(before, "input %x : f32[2]\n%c = Exp(%x) \"same\"\noutput %c"),
            (Seats{{"c", "0 -1"}}));
  const std::string alike = R"(input %x : f32[2]
%a = Relu(%x) {__ipu_number = 1} "same"
%b = Neg(%x) {__ipu_number = 1} "same"
output %a
output %b)";
  EXPECT_EQ(seats(alike, "input %x : f32[2]\n%c = Exp(%x) \"same\"\noutput %c"),
            (Seats{{"c", "1 -1"}}));
}

TEST(Placement, OthersSitWithTheLatestThatTheyReadElseWithTheFirstReader) {
  const std::string before = R"(input %x : f32[2]
%a = Relu(%x) {__ipu_number = 1, __pipeline_stage = 0}
%b = Neg(%a) {__ipu_number = 2, __pipeline_stage = 1}
%c = Exp(%b) {__ipu_number = 1, __pipeline_stage = 2}
output %c)";
  EXPECT_EQ(seats(before, R"(input %x : f32[2]
%i = Identity(%x)
%a = Relu(%i)
%b = Neg(%a)
%n = Add(%b, %a)
%c = Exp(%n)
%m = Mul(%c, %b)
%lone = Abs(%x)
output %m
output %lone)"),
            (Seats{{"i", "1 0"},
                   {"a", "1 0"},
                   {"b", "2 1"},
                   {"n", "2 1"},
                   {"c", "1 2"},
                   {"m", "1 2"},
                   {"lone", "0 0"}}));
}

TEST(Placement, NoNodeIsInAnEarlierStageThanItsInputs) {
  EXPECT_EQ(seats(R"(input %x : f32[2]
%a = Relu(%x) {__ipu_number = 0, __pipeline_stage = 0}
%b = Neg(%a) {__ipu_number = 1, __pipeline_stage = 1}
output %b)",
                  R"(input %x : f32[2]
%b = Neg(%x)
%a = Relu(%b)
output %a)"),
            (Seats{{"b", "1 1"}, {"a", "1 1"}}));
}

TEST(Placement, ReadersIncludeNodesWhoseBodiesRead) {
  EXPECT_EQ(seats(R"(input %x : f32[2]
input %on : bool[]
%a = Relu(%x) {__ipu_number = 2}
output %a)",
                  R"(input %x : f32[2]
input %on : bool[]
%a = Relu(%x)
%y = If(%on) {else_branch = graph "e" { %n = Neg(%a) output %n }, then_branch = graph "t" { %e = Exp(%a) output %e }}
output %y)"),
            (Seats{{"a", "2 -1"}, {"y", "2 -1"}}));
}

TEST(Placement, NumbersOutsideOfTheirRangeAreRefused) {
  for (const auto& [attribute, refused] : {std::pair{"__ipu_number = 1023", false},
                                           {"__ipu_number = 1024", true},
                                           {"__ipu_number = -1", true},
                                           {"__ipu_number = 0, __pipeline_stage = 1023", false},
                                           {"__ipu_number = 0, __pipeline_stage = 1024", true},
                                           {"__ipu_number = 0, __pipeline_stage = -1", true}}) {
    const auto graph =
        graph_of(std::string("input %x : f32[2]\n%a = Relu(%x) {") + attribute + "}\noutput %a");
    if (refused)
      EXPECT_THROW(seat_of(*graph->nodes()[0]), Error) << attribute;
    else
      EXPECT_NO_THROW(seat_of(*graph->nodes()[0])) << attribute;
  }
}

TEST(Placement, RemovalKeepsOtherAttributes) {
  const auto graph = graph_of(R"(input %x : f32[2]
%a = LeakyRelu(%x) {alpha = 0.5, __ipu_number = 1, __pipeline_stage = 0}
output %a)");
  EXPECT_TRUE(Placement(*graph).pipelined());
  EXPECT_FALSE(Placement(*graph).empty());
  remove_placement(*graph);
  EXPECT_EQ(graph->nodes()[0]->attributes.size(), 1u);
  EXPECT_TRUE(Placement(*graph).empty());
  EXPECT_FALSE(Placement(*graph).pipelined());
}

// Without stages the order of the nodes decides which one is later.
TEST(Placement, TheLatestOfOneStageAndTheFirstReaderOfSeveral) {
  const std::string before = R"(input %x : f32[2]
%a = Relu(%x) {__ipu_number = 1}
%b = Neg(%a) {__ipu_number = 2}
%c = Exp(%b) {__ipu_number = 3}
output %c)";
  EXPECT_EQ(seats(before, R"(input %x : f32[2]
%i = Identity(%x)
%a = Relu(%i)
%b = Neg(%a)
%j = Abs(%x)
%n = Add(%a, %b)
%m = Add(%b, %a)
%c = Exp(%j)
%d = Mul(%j, %i)
output %c
output %d
output %n
output %m)"),
            (Seats{{"i", "1 -1"},
                   {"a", "1 -1"},
                   {"b", "2 -1"},
                   {"j", "3 -1"},
                   {"n", "2 -1"},
                   {"m", "2 -1"},
                   {"c", "3 -1"},
                   {"d", "0 -1"}}));
}

TEST(Placement, TheReaderOfTheFirstStageCounts) {
  EXPECT_EQ(seats(R"(input %x : f32[2]
%a = Relu(%x) {__ipu_number = 5, __pipeline_stage = 1}
%b = Neg(%x) {__ipu_number = 4, __pipeline_stage = 0}
%c = Exp(%x) {__ipu_number = 3, __pipeline_stage = 0}
output %a
output %b
output %c)",
                  R"(input %x : f32[2]
%i = Identity(%x)
%a = Relu(%i)
%b = Neg(%i)
%c = Exp(%i)
output %a
output %b
output %c)"),
            (Seats{{"i", "4 0"}, {"a", "5 1"}, {"b", "4 0"}, {"c", "3 0"}}));
}

TEST(Placement, ResultsOfOneNodeAreOneSeat) {
  EXPECT_EQ(seats(R"(input %x : f32[2]
%a, %b = Split(%x) {__ipu_number = 2}
output %a)",
                  R"(input %x : f32[2]
%n, %b = Split(%x)
output %n)"),
            (Seats{{"n", "2 -1"}}));
}

TEST(Placement, BodiesInBodiesReadForTheOutermostNode) {
  EXPECT_EQ(seats(R"(input %x : f32[2]
input %on : bool[]
%a = Relu(%x) {__ipu_number = 2}
output %a)",
                  R"(input %x : f32[2]
input %on : bool[]
%a = Relu(%x)
%y = If(%on) {branch = graph "t" {
  %z = If(%on) {branch = graph "u" { %e = Exp(%a) output %e }}
  output %z
}}
output %y)"),
            (Seats{{"a", "2 -1"}, {"y", "2 -1"}}));
}

TEST(Placement, KeepsExistingPlacementAndAddsNoneWithoutASource) {
  EXPECT_EQ(seats("input %x : f32[2]\n%a = Relu(%x) {__ipu_number = 1}\noutput %a",
                  "input %x : f32[2]\n%a = Relu(%x) {__ipu_number = 7}\n%b = Neg(%a)\noutput %b"),
            (Seats{{"a", "7 -1"}, {"b", "7 -1"}}));
  EXPECT_EQ(seats("input %x : f32[2]\n%a = Relu(%x)\noutput %a",
                  "input %x : f32[2]\n%a = Relu(%x)\noutput %a"),
            (Seats{{"a", "none"}}));
}

TEST(Placement, ErrorsNameTheNodeAndTheAttribute) {
  const auto graph = graph_of(
      "input %x : f32[2]\n%a = Relu(%x) {__ipu_number = 0, __pipeline_stage = 1024} \"n\"\noutput "
      "%a");
  try {
    seat_of(*graph->nodes()[0]);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "Relu node 'n': __pipeline_stage is 1024, expected 0 to 1023");
  }
}

}  // namespace
}  // namespace poprt::ir
