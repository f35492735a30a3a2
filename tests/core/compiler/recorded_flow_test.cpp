// Control flow, sizes that depend on data, sequences and text, compiled, run and recorded; and what
// becomes of each when a number in it is another one or a line is left out. Inputs are small whole
// numbers. Graphs of the passes' cases are compiled in several precisions.
//
//   POPRT_WRITE_RECORDS=1 test_compiler --gtest_filter='RecordedFlow.*'   # then read the diff
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
#include "passes/common/rewrite.h"
#include "support/bent_text.h"
#include "support/recorded_lines.h"

namespace poprt::compiler {
namespace {

using test::FlowBody;
using test::in_graph;
using test::kFlowBodies;
using test::RecordedLines;

// Whole numbers that are not all alike, 0 to 3 or -2 to 3.
Tensor fed(const program::Anchor& a) {
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

std::string shown(const Tensor& t) {
  std::string text = std::string(dtype_name(t.dtype())) + shape_string(t.shape()) + " =";
  const std::vector<double> values = t.to_doubles();
  for (size_t i = 0; i < std::min<size_t>(values.size(), 24); i++)
    text += fmt::format(" {:.3g}", values[i] + 0.0);
  return text;
}

std::vector<std::string> heard;

// Hears what is warned of, and nobody else does.
struct Warnings {
  Warnings() {
    heard.clear();
    set_log_receiver([](int32_t, const char* message) { heard.emplace_back(message); });
  }
  ~Warnings() { set_log_receiver(nullptr); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
};

// One line each: what it compiles to, what it computes; or why not.
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
    for (const program::Anchor& a : p.inputs) feeds[a.name] = fed(a);
    for (const auto& [name, t] : test::run_executable(e, feeds))
      lines.insert(name + " " + shown(t));
  } catch (const Error& e) {
    lines.insert(fmt::format("{}: {}", error_code_name(e.code()), e.message()));
  }
  for (const std::string& warning : heard) lines.insert("warns " + warning);
  return lines;
}

TEST(RecordedFlow, GivesWhatItGave) {
  RecordedLines found;
  Options half;
  half.precision = Precision::fp16;
  for (const FlowBody& b : kFlowBodies) {
    found[b.name] = outcome(in_graph(b.text, b), {});
    if (b.whole) found[std::string(b.name) + ", fp16"] = outcome(in_graph(b.text, b), half);
  }
  test::expect_recorded(found, POPRT_TEST_DATA "/compiled_flow.txt",
                        "What control flow compiles to and computes: recorded_flow_test.cpp.");
}

// Lines in their order.
std::set<std::string> lines_of_text(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.insert(fmt::format("{:03} {}", lines.size(), line));
  return lines;
}

// What `make` makes of the graph, in text; or why it does not.
std::set<std::string> made_of(const FlowBody& b, const Options& options,
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

// What computes the same by other nodes, in another order, under other names or at another place
// is noticed here.
TEST(RecordedFlow, BecomesTheseNodesAndInstructions) {
  RecordedLines found;
  Options plain, kept;
  plain.plain = kept.plain = kept.keep_onnx = true;
  const auto text = [](const ir::Graph& graph) { return ir::to_text(graph); };
  for (const FlowBody& b : kFlowBodies) {
    const std::string name = b.name;
    found[name + ", specialized"] = made_of(b, plain, text);
    found[name + ", converted"] = made_of(b, kept, text);
    found[name + ", flattened"] = made_of(b, plain, [&](ir::Graph& graph) {
      flatten_control_flow(graph);
      return ir::to_text(graph);
    });
    found[name + ", program"] = made_of(
        b, plain, [](ir::Graph& graph) { return program::to_string(compile(graph, {}).program); });
    for (const char* same : {", converted", ", flattened"})
      if (found[name + same] == found[name + ", specialized"]) found.erase(name + same);
  }
  test::expect_recorded(found, POPRT_TEST_DATA "/flow_graphs.txt",
                        "What control flow becomes on its way: recorded_flow_test.cpp.");
}

class RecordedFlowBent : public ::testing::TestWithParam<size_t> {};

TEST_P(RecordedFlowBent, SaysAndGivesWhatItDid) {
  const FlowBody& b = kFlowBodies[GetParam()];
  RecordedLines found;
  for (const auto& [what, text] : test::bent_texts(b.text)) {
    std::string line;
    for (const std::string& s : outcome(in_graph(text, b), {}))
      line += (line.empty() ? "" : " | ") + s;
    found[b.name].insert(what + ": " + line);
  }
  std::string file = b.name;
  std::ranges::replace(file, ' ', '_');
  test::expect_recorded(found, fmt::format("{}/flow/{}.txt", POPRT_TEST_DATA, file),
                        "What becomes of changed graphs: recorded_flow_test.cpp.");
}

INSTANTIATE_TEST_SUITE_P(Recorded, RecordedFlowBent,
                         ::testing::Range<size_t>(0, std::size(kFlowBodies)));

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

TEST(RecordedFlow, GraphsOfPassesCompileToWhatTheyDid) {
  RecordedLines found;
  const auto graphs = graphs_of_passes();
  EXPECT_GT(graphs.size(), 200u);
  for (const Precision precision : {Precision::keep, Precision::fp16, Precision::fp8}) {
    Options options;
    options.precision = precision;
    for (const auto& [name, opset, body] : graphs) {
      const auto graph = [&] {
        try {
          return ir::parse_text(
              fmt::format("graph \"g\" opset {{\"\": {}}} {{\n{}\n}}", opset, body));
        } catch (const Error&) {
          return std::unique_ptr<ir::Graph>();
        }
      }();
      if (!graph) continue;
      std::string line;
      const Warnings warnings;
      try {
        convert(*graph, options);
        const program::Program p = compile(*graph, options).program;
        line = fmt::format("arena {} weights {}:", p.arena_bytes, p.weights_bytes);
        for (const program::Instruction& in : p.main) {
          line += " " + p.kernels[in.kernel];
          if (!in.ints.empty()) line += fmt::format("[{}", in.ints[0]);
          for (size_t i = 1; i < in.ints.size(); i++) line += fmt::format(",{}", in.ints[i]);
          if (!in.ints.empty()) line += "]";
        }
      } catch (const Error& e) {
        line = e.message();
      }
      found[name].insert(fmt::format("precision {}: {}", static_cast<int>(precision), line));
      for (const std::string& warning : heard) found[name].insert("warns " + warning);
    }
  }
  test::expect_recorded(found, POPRT_TEST_DATA "/compiled_passes.txt",
                        "What graphs of passes' cases compile to: recorded_flow_test.cpp.");
}

}  // namespace
}  // namespace poprt::compiler
