// Messages of Scan's inference for a node and its body with one fact changed.
// tests/core/compiler/flow/scan_test.cpp tests the results.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/text.h"
#include "ops/facts.h"
#include "ops/op.h"

namespace poprt::ops {
namespace {

// A state and an input that is scanned, a state and a result of each step.
struct ScanNode {
  int opset = 11;
  std::string inputs = "%s, %x", outputs = "%t, %y", scanned = "num_scan_inputs = 1, ";
  std::string body_inputs = "input %a : f32[2]\ninput %b : f32[2]\n";
  std::string body_outputs = "output %c\noutput %d\n";
  std::string body = "";  // all of it

  std::unique_ptr<ir::Graph> graph() const {
    const std::string made = body_inputs +
                             "%c : f32[2] = Add(%a, %b)\n%d : s64[1] = Shape(%b)\n"
                             "%e : f64[2] = Cast(%b) {to = 11}\n" +
                             body_outputs;
    return ir::parse_text(
        "graph \"g\" opset {\"\": " + std::to_string(opset) +
        "} {\ninput %n : s64[1]\ninput %s : f32[2]\ninput %r : f32[2]\ninput %u : ?\n"
        "input %x : f32[3,2]\ninput %z : f64[3,2]\n" +
        outputs + " = Scan(" + inputs + ") {" + scanned +
        "body = " + (body.empty() ? "graph \"body\" {\n" + made + "}" : body) + "}\noutput %t\n}");
  }
  std::string refusal() const {
    const auto g = graph();
    try {
      infer(*g->nodes().back());
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      return e.message().substr(0, e.message().find("; Scan (here"));
    }
    return "";
  }
};

constexpr const char* kThreeInputs = "input %a : f32[2]\ninput %b : f32[2]\ninput %f : f32[2]\n";

TEST(ScanInference, DirectionsAreZeroOrOne) {
  for (const int direction : {0, 1})
    EXPECT_EQ((ScanNode{.scanned = fmt::format("num_scan_inputs = 1, scan_input_directions = [{}], "
                                               "scan_output_directions = [{}], ",
                                               direction, direction)}
                   .refusal()),
              "");
  for (const char* key : {"scan_input_directions", "scan_output_directions"})
    for (const int direction : {2, -1})
      EXPECT_EQ(
          (ScanNode{.scanned = fmt::format("num_scan_inputs = 1, {} = [{}], ", key, direction)}
               .refusal()),
          fmt::format("Scan node that makes 't': {} has {}, expected 0 or 1", key, direction));
}

TEST(ScanInference, NumbersOfInputsAndOutputsFitTheBody) {
  struct Case {
    ScanNode node;
    std::string error_part;  // names the numbers that differ; empty if all fit
  };
  const Case cases[] = {
      {{}, ""},
      {{.scanned = ""}, "0 scan inputs of 2, a body of 2 and 2"},
      {{.scanned = "num_scan_inputs = 0, "}, "0 scan inputs of 2, a body of 2 and 2"},
      {{.scanned = "num_scan_inputs = -1, "}, "-1 scan inputs of 2, a body of 2 and 2"},
      {{.scanned = "num_scan_inputs = 2, "}, ""},
      {{.scanned = "num_scan_inputs = 3, "}, "3 scan inputs of 2, a body of 2 and 2"},
      {{.body_inputs = kThreeInputs}, "1 scan inputs of 2, a body of 3 and 2"},
      {{.inputs = "%s, %r, %x"}, "1 scan inputs of 3, a body of 2 and 2"},
      {{.outputs = "%t"}, "1 scan inputs of 2, a body of 2 and 2"},
      {{.outputs = "%t, %y, %w"}, "1 scan inputs of 2, a body of 2 and 2"},
      // Each state needs an output.
      {{.inputs = "%s, %r, %x",
        .outputs = "%t",
        .body_inputs = kThreeInputs,
        .body_outputs = "output %c\n"},
       "1 scan inputs of 3, a body of 3 and 1"},
      {{.inputs = "%s, %r, %x",
        .body_inputs = kThreeInputs,
        .body_outputs = "output %c\noutput %b\n"},
       ""},
      {{.outputs = "%t", .body_outputs = "output %c\n"}, ""},
      // Before opset 9 the first input has the lengths of the sequences.
      {{.opset = 8}, "1 scan inputs of 1, a body of 2 and 2"},
      {{.opset = 8, .inputs = "_, %s, %x"}, ""},
      {{.opset = 8, .inputs = "%n, %s, %x"}, ""},
      {{.opset = 9, .inputs = "%n, %s, %x"}, "1 scan inputs of 3, a body of 2 and 2"},
      {{.opset = 8, .inputs = ""}, "1 scan inputs of 0, a body of 2 and 2"},
      {{.opset = 9, .inputs = ""}, "1 scan inputs of 0, a body of 2 and 2"},
  };
  for (const Case& c : cases) {
    const std::string error_text = c.node.refusal();
    if (c.error_part.empty())
      EXPECT_EQ(error_text, "") << c.node.inputs << " " << c.node.scanned;
    else
      EXPECT_NE(error_text.find("'t': " + c.error_part), std::string::npos)
          << error_text << ", not " << c.error_part;
  }
}

TEST(ScanInference, ElementTypesMatchTheBody) {
  const std::string unknown = "input %a : ?\ninput %b : f32[2]\n",
                    wide = "input %a : f64[2]\ninput %b : f32[2]\n",
                    becomes_wide = "output %e\noutput %d\n";
  struct Case {
    ScanNode node;
    std::string error_part;
  };
  const Case cases[] = {
      {{.body_inputs = wide}, "input 0 is f32[2] outside of the body and f64[2] in it, as 'a'"},
      {{.inputs = "%s, %z"}, "input 1 is f64[3,2] outside of the body and f32[2] in it, as 'b'"},
      {{.opset = 8, .inputs = "_, %s, %z"},
       "input 2 is f64[3,2] outside of the body and f32[2] in it, as 'b'"},
      {{.inputs = "%u, %x"}, ""},
      {{.body_inputs = unknown}, ""},
      {{.body_outputs = becomes_wide},
       "state 0 is f32[2] before a step and f64[2] after it, as 'e'"},
      // If the body does not state the type of its input, the type before a step is that of the
      // node's input.
      {{.body_inputs = unknown, .body_outputs = becomes_wide},
       "state 0 is f32[2] before a step and f64[2] after it, as 'e'"},
      {{.inputs = "%u, %x", .body_inputs = unknown, .body_outputs = becomes_wide}, ""},
      {{.inputs = "%u, %x", .body_outputs = becomes_wide},
       "state 0 is f32[2] before a step and f64[2] after it, as 'e'"},
      // The scan output of a step may have any type.
      {{.body_outputs = "output %c\noutput %e\n"}, ""},
      // The second of two states.
      {{.inputs = "%s, %r, %x",
        .body_inputs = kThreeInputs,
        .body_outputs = "output %c\noutput %e\n"},
       "state 1 is f32[2] before a step and f64[2] after it, as 'e'"},
  };
  for (const Case& c : cases) {
    const std::string error_text = c.node.refusal();
    if (c.error_part.empty())
      EXPECT_EQ(error_text, "") << c.node.inputs << "\n"
                                << c.node.body_inputs << c.node.body_outputs;
    else
      EXPECT_NE(error_text.find("'t': " + c.error_part), std::string::npos)
          << error_text << ", not " << c.error_part;
  }
  const auto graph = ScanNode().graph();
  infer(*graph->nodes().back());
  const ir::Node& n = *graph->nodes().back();
  EXPECT_EQ(n.output(0)->dtype(), DType::f32);
  EXPECT_EQ(n.output(0)->type.shape, Shape{2});
  EXPECT_EQ(n.output(1)->dtype(), DType::s64);
}

TEST(ScanInference, ABodyIsAGraph) {
  EXPECT_NE(ScanNode{.body = "1"}.refusal().find("'t': attribute body is missing"),
            std::string::npos);
}

// The cost counts the rounds also of a node that does not state its axes, or states none.
TEST(ScanInference, TheRoundsOfANodeAreItsSteps) {
  const auto rounds = [](ScanNode node) {
    const auto graph = node.graph();
    return facts_of(*graph->nodes().back()).repeats(*graph->nodes().back());
  };
  EXPECT_EQ(rounds({}), 3);
  EXPECT_EQ(rounds({.scanned = "num_scan_inputs = 1, scan_input_axes = ints [], "}), 3);
  EXPECT_EQ(rounds({.scanned = "num_scan_inputs = 1, scan_input_axes = [1], "}), 2);
  EXPECT_EQ(rounds({.opset = 8}), 3 * 2);  // sequences of a batch
  EXPECT_EQ(rounds({.scanned = "num_scan_inputs = 9, "}), -1) << "unknown";
}

}  // namespace
}  // namespace poprt::ops
