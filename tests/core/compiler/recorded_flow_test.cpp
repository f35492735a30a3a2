// Control flow, sizes that depend on data, sequences and text, compiled, run and recorded; also
// with one number changed or one line left out. Inputs are small whole numbers. Graphs of the
// passes' cases are compiled in several precisions and computed.
//
//   POPRT_WRITE_RECORDS=1 test_compiler --gtest_filter='RecordedFlow.*'   # then read the diff
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "core/compiler/flow/support.h"
#include "core/compiler/flow_bodies.h"
#include "kernels/common/describe_call.h"
#include "passes/common/rewrite.h"
#include "support/altered_text.h"
#include "support/recorded_lines.h"

namespace poprt::compiler {
namespace {

using test::FlowBody;
using test::in_graph;
using test::kFlowBodies;
using test::RecordedLines;

// Whole numbers that are not all alike, 0 to 3 or -2 to 3.
Tensor whole_numbers_for(const program::Anchor& a) {
  std::vector<double> numbers(static_cast<size_t>(element_count(a.shape)));
  for (size_t i = 0; i < numbers.size(); i++)
    numbers[i] =
        is_float(a.dtype) ? static_cast<double>(i * 5 % 6) - 2 : static_cast<double>(i * 5 % 4);
  if (a.dtype == DType::boolean)
    for (double& n : numbers) n = n > 2 || numbers.size() == 1;
  else if (numbers.size() == 1)
    numbers[0] = 2;
  return passes::tensor_of(a.dtype, a.shape, numbers);
}

std::string tensor_text(const Tensor& t) {
  std::string text = std::string(dtype_name(t.dtype())) + shape_string(t.shape()) + " =";
  const std::vector<double> values = t.to_doubles();
  for (size_t i = 0; i < std::min<size_t>(values.size(), 24); i++)
    text += fmt::format(" {:.3g}", values[i] + 0.0);
  return text;
}

std::vector<std::string> received_warnings;

// Receives all warnings.
struct Warnings {
  Warnings() {
    received_warnings.clear();
    set_log_receiver([](int32_t, const char* message) { received_warnings.emplace_back(message); });
  }
  ~Warnings() { set_log_receiver(nullptr); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
};

// One line for the program and one for each result; or the message.
std::set<std::string> outcome(const std::string& text, const Options& options) {
  std::set<std::string> lines;
  const Warnings warnings;
  try {
    const Executable e = test::compile_text(text, options);
    const program::Program& p = e.program;
    std::string line =
        fmt::format("arena {} state {} weights {}:", p.arena_bytes, p.state_bytes, p.weights_bytes);
    for (const program::Instruction& in : p.main) line += " " + p.kernels[in.kernel];
    lines.insert(line);
    for (const auto& [name, note] : e.notes)
      if (!name.starts_with("poprt.")) lines.insert("note " + name + " " + note);
    std::map<std::string, Tensor> feeds;
    for (const program::Anchor& a : p.inputs) feeds[a.name] = whole_numbers_for(a);
    for (const auto& [name, t] : test::run_executable(e, feeds))
      lines.insert(name + " " + tensor_text(t));
  } catch (const Error& e) {
    lines.insert(fmt::format("{}: {}", error_code_name(e.code()), e.message()));
  }
  for (const std::string& warning : received_warnings) lines.insert("warns " + warning);
  return lines;
}

TEST(RecordedFlow, MatchesTheRecord) {
  RecordedLines found;
  Options half;
  half.precision = Precision::fp16;
  for (const FlowBody& b : kFlowBodies) {
    found[b.name] = outcome(in_graph(b.text, b), {});
    if (b.whole) found[std::string(b.name) + ", fp16"] = outcome(in_graph(b.text, b), half);
  }
  test::expect_recorded(found, POPRT_TEST_DATA "/compiled_flow.txt",
                        "Programs and results of control flow: recorded_flow_test.cpp.");
}

// Numbers the lines, so that the set keeps their order.
std::set<std::string> lines_of_text(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.insert(fmt::format("{:03} {}", lines.size(), line));
  return lines;
}

// The text that `make` returns for the graph, or the message.
std::set<std::string> text_or_message(const FlowBody& b, const Options& options,
                                      const std::function<std::string(ir::Graph&)>& make) {
  const Warnings warnings;
  try {
    const auto graph = ir::parse_text(in_graph(b.text, b));
    convert(*graph, options);
    return lines_of_text(make(*graph));
  } catch (const Error& e) {
    return {fmt::format("{}: {}", error_code_name(e.code()), e.message())};
  }
}

// A program of each kind of control flow, in full: its listing is what `opt --program` prints.
constexpr const char* kListedPrograms[] = {"attention with a mask",
                                           "boxes",
                                           "branches",
                                           "branches in a loop",
                                           "labels",
                                           "loop",
                                           "scan",
                                           "range",
                                           "sequences",
                                           "sizes",
                                           "state",
                                           "top",
                                           "trees",
                                           "unique"};

TEST(RecordedFlow, CompilesToThesePrograms) {
  RecordedLines found;
  Options plain;
  plain.plain = true;
  for (const FlowBody& b : kFlowBodies)
    if (std::ranges::find(kListedPrograms, std::string_view(b.name)) != std::end(kListedPrograms))
      found[b.name] = text_or_message(b, plain, [](ir::Graph& graph) {
        return program::to_string(compile(graph, {}).program, kernels::describe_call);
      });
  EXPECT_EQ(found.size(), std::size(kListedPrograms));
  test::expect_recorded(found, POPRT_TEST_DATA "/programs.txt",
                        "Programs of control flow: recorded_flow_test.cpp.");
}

// Another order of nodes, another name or another place in memory is noticed here although the
// results are the same.
TEST(RecordedFlow, BecomesTheRecordedNodesAndInstructions) {
  RecordedLines found;
  Options plain, kept;
  plain.plain = kept.plain = kept.keep_onnx = true;
  const auto text = [](const ir::Graph& graph) { return ir::to_text(graph); };
  for (const FlowBody& b : kFlowBodies) {
    const std::string name = b.name;
    found[name + ", specialized"] = text_or_message(b, plain, text);
    found[name + ", converted"] = text_or_message(b, kept, text);
    found[name + ", flattened"] = text_or_message(b, plain, [&](ir::Graph& graph) {
      flatten_control_flow(graph);
      return ir::to_text(graph);
    });
    found[name + ", program"] = text_or_message(b, plain, [](ir::Graph& graph) {
      return program::to_string(compile(graph, {}).program, kernels::describe_call);
    });
  }
  test::expect_digests(found, POPRT_TEST_DATA "/flow_graphs.txt",
                       "Control flow after each step: recorded_flow_test.cpp.");
}

TEST(RecordedFlow, ChangedBodiesGiveTheRecordedResultsAndMessages) {
  RecordedLines found;
  for (const FlowBody& b : kFlowBodies)
    for (const auto& [what, text] : test::altered_texts(b.text)) {
      std::string line;
      for (const std::string& s : outcome(in_graph(text, b), {}))
        line += (line.empty() ? "" : " | ") + s;
      found[b.name].insert(what + ": " + line);
    }
  test::expect_digests(found, POPRT_TEST_DATA "/flow_altered.txt",
                       "Control flow with other numbers or without a line: "
                       "recorded_flow_test.cpp.");
}

// Each graph of the passes' cases: "--- before" and "--- stays" up to the next "---".
std::vector<std::tuple<std::string, int, std::string>> graphs_of_passes() {
  std::vector<std::tuple<std::string, int, std::string>> graphs;
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(POPRT_TEST_DATA "/passes"))
    files.push_back(file.path());
  std::ranges::sort(files);
  for (const auto& path : files) {
    std::ifstream file(path);
    int opset = 17, number = 0;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("opset ")) opset = std::stoi(line.substr(6));
      if (line.starts_with("--- ") || line.starts_with("argument ") || line == "none" ||
          line.starts_with("opset ") || line.starts_with("tolerance ") ||
          line.starts_with("unmeasured ") || line.starts_with("#")) {
        inside = line.starts_with("--- before") || line.starts_with("--- stays");
        if (inside)
          graphs.emplace_back(fmt::format("{} {}", path.stem().string(), ++number), opset, "");
      } else if (inside) {
        std::get<2>(graphs.back()) += line + "\n";
      }
    }
  }
  return graphs;
}

// Null if a case has no valid text: a pass must refuse it.
std::unique_ptr<ir::Graph> graph_of_case(int opset, const std::string& body) {
  try {
    return ir::parse_text(fmt::format("graph \"g\" opset {{\"\": {}}} {{\n{}\n}}", opset, body));
  } catch (const Error&) {
    return nullptr;
  }
}

// The compiled graph gives the results of its nodes, evaluated one by one.
TEST(RecordedFlow, GraphsOfPassesComputeTheResultsOfTheirNodes) {
  int compared = 0;
  for (const auto& [name, opset, body] : graphs_of_passes()) {
    SCOPED_TRACE(name);
    const auto graph = graph_of_case(opset, body);
    if (!graph) continue;
    std::map<std::string, Tensor> feeds, wanted, got;
    const Warnings warnings;
    try {
      ops::infer(*graph);
      feeds = test::random_feeds(*graph);
      wanted = test::evaluate_graph(*graph, feeds);
      const auto copy = graph->clone();
      convert(*copy, {});
      const Executable e = compile(*copy, {});
      got = test::run_executable(e, feeds);
    } catch (const Error&) {
      continue;  // some operators are only for the converter, and some sizes are unknown
    }
    // A fused kernel rounds intermediate values of 16 bits less often than the nodes do.
    if (std::ranges::any_of(graph->values(), [](const ir::Value* v) {
          return v->dtype() == DType::f16 || v->dtype() == DType::bf16;
        }))
      continue;
    for (const auto& [output, tensor] : got) {
      // An output whose size depends on data has padding.
      if (!wanted.contains(output) || got.contains(output + ":shape")) continue;
      compared++;
      ASSERT_NO_FATAL_FAILURE(test::expect_close(wanted.at(output), tensor, 1e-4, output));
    }
  }
  EXPECT_GT(compared, 200);
}

TEST(RecordedFlow, GraphsOfPassesCompileToTheRecordedPrograms) {
  RecordedLines found;
  const auto graphs = graphs_of_passes();
  EXPECT_GT(graphs.size(), 200u);
  for (const Precision precision : {Precision::keep, Precision::fp16, Precision::fp8}) {
    Options options;
    options.precision = precision;
    for (const auto& [name, opset, body] : graphs) {
      const auto graph = graph_of_case(opset, body);
      if (!graph) continue;
      std::string line;
      const Warnings warnings;
      try {
        convert(*graph, options);
        const program::Program p = compile(*graph, options).program;
        line = fmt::format("arena {} weights {}:", p.arena_bytes, p.weights_bytes);
        for (const program::Instruction& in : p.main)
          line += fmt::format(" {}[{}]", p.kernels[in.kernel], fmt::join(in.ints, ","));
      } catch (const Error& e) {
        line = e.message();
      }
      std::set<std::string>& lines = found[name.substr(0, name.find(' '))];
      lines.insert(fmt::format("{}, precision {}: {}", name, static_cast<int>(precision), line));
      for (const std::string& warning : received_warnings) lines.insert("warns " + warning);
    }
  }
  test::expect_digests(found, POPRT_TEST_DATA "/compiled_passes.txt",
                       "What graphs of passes' cases compile to: recorded_flow_test.cpp.");
}

}  // namespace
}  // namespace poprt::compiler
