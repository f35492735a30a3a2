// Control flow, sizes that depend on data, sequences and text, compiled, run and recorded; and what
// becomes of each when a number in it is another one or a line is left out. Inputs are small whole
// numbers. Graphs of the passes' cases are compiled in several precisions.
//
//   POPRT_WRITE_RECORDS=1 test_compiler --gtest_filter='RecordedFlow.*'   # then read the diff
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "core/compiler/flow/support.h"
#include "passes/rewrite.h"
#include "support/bent_text.h"
#include "support/recorded_lines.h"

namespace poprt::compiler {
namespace {

using test::RecordedLines;

struct Body {
  const char* name;
  const char* text;
  int opset = 21, ml = 3;
};

const Body kBodies[] = {
    {"flex attention", R"(input %q : f32[1,2,2,3]
input %k : f32[1,1,4,3]
input %v : f32[1,1,4,2]
%y : ? = ai.onnx.preview.FlexAttention(%q, %k, %v) {scale = 0.5, score_mod = graph "s" { input %s : ? %t : ? = Abs(%s) output %t }, prob_mod = graph "p" { input %a : ? %b : ? = Neg(%a) output %b }}
output %y)"},
    {"flex attention of doubles", R"(input %q : f64[1,2,2,3]
input %k : f64[1,2,4,3]
input %v : f64[1,2,4,2]
%y : ? = ai.onnx.preview.FlexAttention(%q, %k, %v)
output %y)"},
    {"flex attention of halves", R"(input %q : f16[1,4,1,2]
input %k : f16[1,2,2,2]
input %v : f16[1,2,2,1]
%y : ? = ai.onnx.preview.FlexAttention(%q, %k, %v) {softmax_precision = 10}
output %y)"},
    {"flex attention that changes shapes", R"(input %q : f32[1,1,2,3]
input %k : f32[1,1,4,3]
input %v : f32[1,1,4,2]
%y : ? = ai.onnx.preview.FlexAttention(%q, %k, %v) {score_mod = graph "s" { input %s : ? %t : ? = ReduceMax(%s) output %t }}
output %y)"},
    {"flex attention without dimensions", R"(input %q : f32[2,3]
input %k : f32[4,3]
input %v : f32[4,2]
%y : ? = ai.onnx.preview.FlexAttention(%q, %k, %v)
output %y)"},
    {"loop", R"(input %m : s64[]
input %x : f32[2]
%last : ? = Loop(%m, _, %x) {body = graph "b" { input %i : s64[] input %c : bool[] input %a : ? const %one : f32[] = 1.0 %n : ? = Add(%a, %one) output %c output %n }}
output %last)"},
    {"loop of known rounds", R"(const %m : s64[] = 3
input %x : f32[2]
%last : ?, %all : ? = Loop(%m, _, %x) {body = graph "b" { input %i : s64[] input %c : bool[] input %a : ? const %two : f32[] = 2.0 %n : ? = Mul(%a, %two) %copy : ? = Identity(%n) output %c output %n output %copy }}
output %last
output %all)"},
    {"loop that stops", R"(const %m : s64[] = 6
const %yes : bool[] = true
input %x : f32[2]
%last : ?, %all : ? = Loop(%m, %yes, %x) {body = graph "b" { input %i : s64[] input %c : bool[] input %a : ? const %three : s64[] = 3 %go : ? = Less(%i, %three) %n : ? = Neg(%a) %copy : ? = Identity(%n) output %go output %n output %copy }}
output %last
output %all)"},
    {"branches", R"(input %c : bool[]
input %x : f32[2,2]
%y : ? = If(%c) {then_branch = graph "t" { %a : ? = Abs(%x) output %a }, else_branch = graph "e" { const %s : s64[2] = [2, 2] %n : ? = Neg(%x) %b : ? = Reshape(%n, %s) output %b }}
output %y)"},
    {"branches of two sizes", R"(input %c : bool[]
input %x : f32[4]
const %zero : s64[1] = [0]
const %two : s64[1] = [2]
%y : ? = If(%c) {then_branch = graph "t" { %a : ? = Abs(%x) output %a }, else_branch = graph "e" { %b : ? = Slice(%x, %zero, %two) output %b }}
%s : ? = ReduceSum(%y) {keepdims = 0}
output %y
output %s)"},
    {"scan", R"(input %s : f32[2]
input %x : f32[2,3]
%t : ?, %y : ? = Scan(%s, %x) {num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], scan_output_axes = [1], scan_output_directions = [1], body = graph "b" { input %a : ? input %b : ? %c : ? = Add(%a, %b) %d : ? = Identity(%c) output %c output %d }}
output %t
output %y)"},
    {"sizes", R"(input %x : f32[2,3]
%at : ? = NonZero(%x)
%rows : ? = Transpose(%at) {perm = [1, 0]}
%picked : ? = GatherND(%x, %rows)
%sum : ? = ReduceSum(%picked) {keepdims = 0}
%most : ? = ReduceMax(%picked) {keepdims = 0}
%mean : ? = ReduceMean(%picked) {keepdims = 0}
%n : ? = Size(%picked)
output %rows
output %picked
output %sum
output %most
output %mean
output %n)"},
    {"compressed", R"(input %x : f32[3,2]
input %c : bool[3]
%y : ? = Compress(%x, %c) {axis = 0}
%z : ? = Concat(%y, %x) {axis = 0}
const %first : s64[1] = [0]
%least : ? = ReduceMin(%y, %first) {keepdims = 1}
%product : ? = ReduceProd(%y, %first) {keepdims = 0}
%shape : ? = Shape(%y)
%twice : ? = Add(%y, %y)
%soft : ? = Softmax(%y) {axis = 0}
output %z
output %least
output %product
output %shape
output %twice
output %soft)"},
    {"unique", R"(input %x : s64[6]
%y : ?, %first : ?, %inverse : ?, %counts : ? = Unique(%x) {sorted = 1}
const %axis : s64[1] = [0]
%flat : ? = Unsqueeze(%y, %axis)
%square : ? = Mul(%counts, %counts)
%most : ? = ReduceMax(%square) {keepdims = 0}
output %most
output %y
output %counts
output %flat)"},
    {"range", R"(input %n : s64[]
const %zero : s64[] = 0
const %four : s64[] = 4
const %one : s64[] = 1
%bounded : ? = Min(%n, %four)
%y : ? = Range(%zero, %bounded, %one)
output %y)"},
    {"top", R"(input %x : f32[5]
%k : ? = Shape(%x)
const %two : s64[1] = [2]
%less : ? = Sub(%k, %two)
%v : ?, %i : ? = TopK(%x, %less) {axis = 0, largest = 0}
output %v
output %i)"},
    {"sequences", R"(input %a : f32[2]
input %b : f32[3]
const %zero : s64[] = 0
const %one : s64[] = 1
%s : ? = SequenceConstruct(%a, %b)
%t : ? = SequenceInsert(%s, %b, %zero)
%u : ? = SequenceErase(%t, %one)
%n : ? = SequenceLength(%t)
%y : ? = ConcatFromSequence(%t) {axis = 0}
%z : ? = SequenceAt(%u, %one)
output %y
output %n
output %u
output %z)"},
    {"split", R"(input %x : f32[5,2]
const %two : s64[] = 2
%s : ? = SplitToSequence(%x, %two) {axis = 0, keepdims = 1}
%last : s64[] = SequenceLength(%s)
const %minus : s64[] = -1
%y : ? = SequenceAt(%s, %minus)
%m : ? = SequenceMap(%s) {body = graph "b" { input %e : ? %f : ? = Neg(%e) output %f }}
%z : ? = ConcatFromSequence(%m) {axis = 0, new_axis = 0}
output %y
output %z
output %last)"},
    {"optional", R"(input %x : f32[2]
%o : ? = Optional(%x)
%h : ? = OptionalHasElement(%o)
%y : ? = OptionalGetElement(%o)
%none : ? = OptionalHasElement()
output %h
output %y
output %none)"},
    {"text", R"(const %t : string[3] = ["b", "a", "b"]
input %x : f32[3]
%u : ?, %i : ?, %r : ?, %n : ? = Unique(%t)
%l : ? = ai.onnx.ml.LabelEncoder(%t) {keys_strings = ["a", "b"], values_int64s = [7, 9], default_int64 = 1}
%f : ? = Cast(%l) {to = 1}
%y : ? = Add(%x, %f)
output %y
output %n)"},
    {"labels", R"(input %x : f32[3,2]
%label : ?, %scores : ? = ai.onnx.ml.LinearClassifier(%x) {coefficients = [1.0, 0.0, 0.0, 1.0, -1.0, -1.0], intercepts = [0.0, 0.0, 0.0], classlabels_strings = ["cat", "dog", "cow"]}
%map : ? = ai.onnx.ml.ZipMap(%scores) {classlabels_strings = ["cat", "dog", "cow"]}
output %label
output %map)"},
    {"text that is not constant", R"(input %t : string[2]
%y : ? = StringNormalizer(%t) {case_change_action = "UPPER"}
output %y)"},
    {"numbers of text", R"(input %t : string[2]
%y : ? = Abs(%t)
output %y)"},
    {"words", R"(const %t : string[4] = ["b", "c", "b", ""]
input %x : f32[2]
%y : ? = TfIdfVectorizer(%t) {mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0, ngram_counts = [0], ngram_indexes = [0, 1], pool_strings = ["a", "b"]}
%z : ? = Add(%x, %y)
output %z)"},
    {"an image", R"(input %b : u8[40]
%y : ? = ImageDecoder(%b)
output %y)"},
    {"branches with sequences", R"(input %c : bool[]
input %x : f32[2]
const %zero : s64[] = 0
%s : ? = If(%c) {then_branch = graph "t" { %a : ? = SequenceConstruct(%x, %x) output %a }, else_branch = graph "e" { %b : ? = SequenceConstruct(%x) output %b }}
%y : ? = SequenceAt(%s, %zero)
output %y)"},
    {"branches with equal sequences", R"(input %c : bool[]
input %x : f32[2]
const %one : s64[] = 1
%s : ? = If(%c) {then_branch = graph "t" { %a : ? = SequenceConstruct(%x, %x) output %a }, else_branch = graph "e" { %n : ? = Neg(%x) %b : ? = SequenceConstruct(%x, %n) output %b }}
%y : ? = SequenceAt(%s, %one)
output %y)"},
    {"attention with a mask", R"(input %q : f64[1,2,3,2]
input %k : f64[1,2,4,2]
input %v : f64[1,2,4,2]
input %m : f64[3,4]
%y : ? = Attention(%q, %k, %v, %m)
output %y)",
     23},
    {"attention with a mask of rows", R"(input %q : f64[1,1,3,2]
input %k : f64[1,1,4,2]
input %v : f64[1,1,4,2]
input %m : f64[1,1,3,1]
%y : ? = Attention(%q, %k, %v, %m) {is_causal = 1}
output %y)",
     23},
    {"attention with a short mask", R"(input %q : f64[1,1,3,2]
input %k : f64[1,1,4,2]
input %v : f64[1,1,4,2]
input %m : f64[3,2]
%y : ? = Attention(%q, %k, %v, %m)
output %y)",
     24},
    {"attention with a mask of booleans", R"(input %q : f32[1,2,3,2]
input %k : f32[1,2,4,2]
input %v : f32[1,2,4,2]
input %m : bool[3,4]
%y : ? = Attention(%q, %k, %v, %m)
output %y)",
     23},
    {"trees", R"(input %x : f32[3,2]
%y : ? = ai.onnx.ml.TreeEnsemble(%x) {n_targets = 2, aggregate_function = 1, post_transform = 0, tree_roots = [0, 2], nodes_modes = u8[3] [0, 1, 4], nodes_splits = f32[3] [0.5, 1.0, 2.0], nodes_featureids = [0, 1, 1], nodes_truenodeids = [1, 0, 2], nodes_trueleafs = [0, 1, 1], nodes_falsenodeids = [1, 2, 3], nodes_falseleafs = [1, 1, 1], leaf_targetids = [0, 1, 1, 0], leaf_weights = f32[4] [1.0, 2.0, 4.0, 8.0]}
output %y)",
     21, 5},
    {"state", R"(input %x : f32[2,1,3]
const %w : f32[1,8,3] = fill 0.5
const %r : f32[1,8,2] = fill 0.25
%y : ?, %h : ?, %c : ? = LSTM(%x, %w, %r) {hidden_size = 2}
output %h
output %c)"},
};

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

std::string in_graph(const std::string& text, const Body& body) {
  return fmt::format(
      "graph \"g\" opset {{\"\": {}, \"ai.onnx.ml\": {}, \"ai.onnx.preview\": 1}} {{\n{}\n}}",
      body.opset, body.ml, text);
}

TEST(RecordedFlow, GivesWhatItGave) {
  RecordedLines found;
  Options half;
  half.precision = Precision::fp16;
  for (const Body& b : kBodies) {
    found[b.name] = outcome(in_graph(b.text, b), {});
    found[std::string(b.name) + ", fp16"] = outcome(in_graph(b.text, b), half);
  }
  test::expect_recorded(found, POPRT_TEST_DATA "/compiled_flow.txt",
                        "What control flow compiles to and computes: recorded_flow_test.cpp.");
}

class RecordedFlowBent : public ::testing::TestWithParam<size_t> {};

TEST_P(RecordedFlowBent, SaysAndGivesWhatItDid) {
  const Body& b = kBodies[GetParam()];
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
                         ::testing::Range<size_t>(0, std::size(kBodies)));

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
