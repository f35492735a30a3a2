#include "core/passes/case_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "passes/common/rewrite.h"

namespace poprt::test {

std::vector<FileCase> read_cases(const std::string& path) {
  std::vector<FileCase> cases;
  FileCase settings;
  std::string* text = nullptr;
  std::ifstream file(path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    number++;
    const auto begins = [&](std::string_view word) { return line.starts_with(word); };
    if (begins("--- ")) {
      const std::string what = line.substr(4);
      text = nullptr;
      const auto goes_on = [&](std::string_view word, FileCase::Kind kind) {
        return what == word && !cases.empty() && cases.back().kind == kind;
      };
      if (goes_on("after", FileCase::Kind::rewrites) || goes_on("text", FileCase::Kind::says)) {
        text = &cases.back().after;
        continue;
      }
      cases.push_back(settings);
      FileCase& c = cases.back();
      c.line = number;
      c.kind = what == "stays"              ? FileCase::Kind::stays
               : what == "says"             ? FileCase::Kind::says
               : what.starts_with("fails ") ? FileCase::Kind::fails
                                            : FileCase::Kind::rewrites;
      if (c.kind == FileCase::Kind::fails) c.message = what.substr(6);
      if (c.kind == FileCase::Kind::rewrites && what != "before")
        fail(ErrorCode::invalid_argument, "{}:{}: '{}' is not understood", path, number, line);
      text = &c.before;
    } else if (begins("opset ")) {
      settings.opset = std::stoi(line.substr(6));
    } else if (begins("tolerance ")) {
      settings.tolerance = std::stod(line.substr(10));
    } else if (begins("unmeasured ")) {
      settings.measured = false;
    } else if (line == "none") {
      settings.arguments.clear();
    } else if (begins("argument ")) {
      const size_t at = line.find('=');
      std::string value = line.substr(at + 1);
      for (size_t i; (i = value.find("\\n")) != std::string::npos;) value.replace(i, 2, "\n");
      settings.arguments[line.substr(9, at - 9)] = value;
    } else if (text && !begins("#")) {
      *text += line + "\n";
    } else if (!line.empty() && !begins("#")) {
      fail(ErrorCode::invalid_argument, "{}:{}: '{}' is not understood", path, number, line);
    }
  }
  return cases;
}

namespace fs = std::filesystem;

static const fs::path kFolder = fs::path(POPRT_TEST_DATA) / "passes";

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

// `given` as values of another type, which holds them.
Tensor as_type(const Tensor& given, DType dtype, const Shape& shape) {
  const std::vector<double> values = given.to_doubles();
  return passes::tensor_of(dtype, shape, values);
}

// The value of this name that the graph computes: an output or an intermediate value.
Tensor value_of(const ir::Graph& graph, const std::map<std::string, Tensor>& feeds,
                const std::string& name) {
  const auto copy = graph.clone();
  ir::Value* v = copy->find(name);
  if (!v) fail(ErrorCode::not_found, "the graph before has no '{}'", name);
  while (!copy->outputs().empty()) copy->remove_output(0);
  copy->add_output(v);
  return evaluate_graph(*copy, feeds).at(name);
}

// Sets dimensions that are still unknown.
void fix_inputs(ir::Graph& graph) {
  for (ir::Value* v : graph.inputs())
    for (int64_t& d : v->type.shape)
      if (d < 0) d = 2;
}

void expect_equal_results(const ir::Graph& before, const ir::Graph& after, double tolerance) {
  const auto original = before.clone();
  for (ir::Value* v : original->inputs()) {  // dimensions that the pass has fixed
    const ir::Value* fixed = after.find(v->name());
    if (!v->type.is_static() && fixed) v->type.shape = fixed->type.shape, v->type.symbols.clear();
  }
  fix_inputs(*original);
  passes::PassContext context;
  passes::pass_of("shape_inference").run(*original, context);
  const auto results = after.clone();
  fix_inputs(*results);
  passes::pass_of("shape_inference").run(*results, context);
  const auto new_feeds = random_feeds(*results);
  auto feeds = random_feeds(*original);
  for (auto& [name, tensor] : feeds)
    if (const auto f = new_feeds.find(name); f != new_feeds.end())
      tensor = as_type(f->second, tensor.dtype(), tensor.shape());
  for (const auto& [name, tensor] : evaluate_graph(*results, new_feeds))
    expect_close(value_of(*original, feeds, name), tensor, tolerance, name);
}

bool inspects(const std::string& pass) {
  return passes::pass_of(pass).kind == passes::PassKind::inspect;
}

void check(const std::string& pass, const FileCase& c) {
  const std::vector<passes::PassCall> calls{{&passes::pass_of(pass), c.arguments}};
  if (c.kind == FileCase::Kind::fails) {
    try {
      const auto graph = parsed(c.before, c.opset);
      passes::run_passes(*graph, calls);
      ADD_FAILURE() << "nothing was refused";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(c.message), std::string::npos) << e.what();
    }
    return;
  }
  const auto original = parsed(c.before, c.opset), graph = parsed(c.before, c.opset);
  passes::PassManagerOptions options;
  std::string error_text;
  options.print = [&](std::string_view text) { error_text += std::string(text); };
  const auto reports = passes::run_passes(*graph, calls, options);
  const std::string made = ir::to_text(*graph);
  if (c.kind == FileCase::Kind::stays || c.kind == FileCase::Kind::says) {
    EXPECT_EQ(made, ir::to_text(*original));
    EXPECT_EQ(error_text, c.after);
    if (inspects(pass)) expect_equal_results(*original, *graph, 0);
    return;
  }
  EXPECT_NE(made, ir::to_text(*original)) << "the pass did nothing";
  const std::string header = made.substr(0, made.find('\n') + 1);
  const auto expected = ir::parse_text(header + c.after + "}");
  ops::infer(*expected);
  EXPECT_EQ(made, ir::to_text(*expected));
  if (c.measured) expect_equal_results(*original, *graph, c.tolerance);
}

class PassCases : public testing::TestWithParam<std::string> {};

TEST_P(PassCases, RewriteAsWrittenAndComputeTheSame) {
  const std::vector<FileCase> cases = read_cases((kFolder / (GetParam() + ".txt")).string());
  bool rewrites = false, stays = false, elsewhere = false;
  for (const FileCase& c : cases) {
    SCOPED_TRACE(fmt::format("{}.txt:{}", GetParam(), c.line));
    rewrites |= c.kind == FileCase::Kind::rewrites;
    elsewhere |= !c.measured;
    stays |= c.kind != FileCase::Kind::rewrites;
    ASSERT_NO_THROW(check(GetParam(), c));
  }
  EXPECT_TRUE(rewrites || inspects(GetParam()) || elsewhere)
      << "no case in which the pass does something";
  EXPECT_TRUE(stays) << "no case that the pass leaves alone or refuses";
}

// Passes count their rewrites and check the limit before each one. Each limit from 0 to the number
// of rewrites is tried.
class LimitedCases : public testing::TestWithParam<std::string> {};

TEST_P(LimitedCases, RewriteAsOftenAsTheyMay) {
  const passes::PassDef& pass = passes::pass_of(GetParam());
  for (const FileCase& c : read_cases((kFolder / (GetParam() + ".txt")).string())) {
    if (c.kind != FileCase::Kind::rewrites) continue;
    SCOPED_TRACE(fmt::format("{}.txt:{}", GetParam(), c.line));
    const std::vector<passes::PassCall> calls{{&pass, c.arguments}};
    const auto original = parsed(c.before, c.opset);
    passes::PassManagerOptions options;
    options.print = [](std::string_view) {};
    const auto rewritten = [&](int64_t limit) {
      options.rewrite_limit = limit;
      auto graph = parsed(c.before, c.opset);
      const int64_t done = passes::run_passes(*graph, calls, options).at(0).rewrites;
      return std::pair(done, ir::to_text(*graph));
    };
    const auto [all, after] = rewritten(INT64_MAX);
    EXPECT_EQ(rewritten(0), std::pair(int64_t{0}, ir::to_text(*original)));
    for (int64_t limit = 1; limit < all; limit++) EXPECT_EQ(rewritten(limit).first, limit);
    EXPECT_EQ(rewritten(all).second, after);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LimitedCases, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

// Passes whose results no case file can compare, and the tests that compare them: the inputs
// change, values must be special, or the text form of a graph cannot express the case.
const std::map<std::string, std::vector<std::string>>& measured_elsewhere() {
  static const std::map<std::string, std::vector<std::string>> tests = {
      {"apply_host_concat_split", {"ApplyHostConcatSplit.ThePartsOfTheJoinedInputAreTheOldOnes"}},
      {"compress_pattern", {"CompressPattern.PutsKeptElementsBeforeZeros"}},
      {"eight_bits_io", {"EightBitsIo.NormalisesBytesAsImageNetIs"}},
      {"insert_attention_mask", {"InsertAttentionMask.Bert"}},
      {"packed_transformer", {"PackedTransformer.BertCrossesRows"}},
      {"remove_initializer_from_input",
       {"RemoveInitializerFromInput.AConstantIsNoInputAndKeepsItsValue"}},
      {"replace_nonzero", {"ReplaceNonzero.FindsTheOnlyOneThatTheModelDeclares"}},
      {"shape_inference", {"ShapeInference.StaleTypesAreForgotten"}},
      {"sort_graph", {"SortGraph.SubgraphsToo"}},
  };
  return tests;
}

// The contents of the case file of a pass. PassCases runs each case, and fails if the pass does
// nothing.
struct InFile {
  bool acts = false;      // has cases with text before and after, a report, or a refusal
  bool measured = false;  // random inputs give the same before and after
};

InFile in_file(const std::string& pass) {
  using Kind = FileCase::Kind;
  InFile found;
  const fs::path file = kFolder / (pass + ".txt");
  if (!fs::exists(file)) return found;
  for (const FileCase& c : read_cases(file.string())) {
    found.acts |= c.kind == Kind::rewrites || (inspects(pass) && c.kind != Kind::stays);
    found.measured |= c.measured && c.kind == Kind::rewrites;
    found.measured |= inspects(pass) && c.kind != Kind::fails;
  }
  return found;
}

// Runs one test of this program by itself: it must pass, the pass must have rewritten something,
// and numbers must have been compared.
void expect_evidence(const std::string& pass, const std::string& test) {
  SCOPED_TRACE(test);
  const fs::path folder =
      fs::temp_directory_path() / fmt::format("poprt_evidence_{}_{}", ::getpid(), pass);
  fs::create_directories(folder);
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  const int code = std::system(
      fmt::format("POPRT_LOG_LEVEL=DEBUG '{0}' --gtest_filter='{1}' --gtest_output=json:'{2}/out' "
                  "> '{2}/messages' 2>&1",
                  program, test, folder.string())
          .c_str());
  std::ifstream messages(folder / "messages"), out(folder / "out");
  const std::string lines{std::istreambuf_iterator<char>(messages), {}},
      report{std::istreambuf_iterator<char>(out), {}};
  fs::remove_all(folder);
  EXPECT_EQ(code, 0) << lines;
  EXPECT_NE(lines.find("[  PASSED  ] 1 test."), std::string::npos) << lines;
  EXPECT_NE(report.find("\"compared\""), std::string::npos) << "it compares no results";
  const std::string rewrites = fmt::format("pass {}: ", pass);
  bool fired = pass == "shape_inference";  // this pass counts no rewrites; its test compares types
  for (size_t at = 0; (at = lines.find(rewrites, at)) != std::string::npos; at++)
    fired |= lines[at + rewrites.size()] != '0';
  EXPECT_TRUE(fired) << "the pass does nothing in it";
}

// The passes of PopRT 1.5, by name: each is here, and has a test of its text and one of its
// numbers.
TEST(PopRT, HasItsPassesAndEachHasBothTests) {
  std::ifstream file(fs::path(POPRT_TEST_DATA) / "poprt_passes.txt");
  size_t count = 0, both = 0;
  for (std::string name; std::getline(file, name); count++) {
    SCOPED_TRACE(name);
    // It compares two models, so it is not a pass of the compiler: it is a pass of the Python
    // package (user_scripts_onnx_test.py, sessions_onnx_test.py) and an option of the command.
    if (name == "layer_precision_compare") {
      both++;
      continue;
    }
    ASSERT_NE(passes::find_pass(name), nullptr);
    const auto elsewhere = measured_elsewhere().find(name);
    const bool is_elsewhere = elsewhere != measured_elsewhere().end();
    const InFile here = in_file(name);
    EXPECT_TRUE(here.acts || is_elsewhere) << "no text before and after";
    EXPECT_NE(here.measured, is_elsewhere) << "its numbers are compared nowhere, or twice";
    if (is_elsewhere)
      for (const std::string& test : elsewhere->second) expect_evidence(name, test);
    both += (here.acts && here.measured) || is_elsewhere;
  }
  EXPECT_EQ(count, 105u);
  fmt::print("{} of {} passes with both tests\n", both, count);
}

INSTANTIATE_TEST_SUITE_P(All, PassCases, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace poprt::test
