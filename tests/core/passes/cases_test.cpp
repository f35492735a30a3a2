#include "core/passes/case_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "passes/rewrite.h"

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
      if (what == "after" && !cases.empty() && cases.back().kind == FileCase::Kind::rewrites) {
        text = &cases.back().after;
        continue;
      }
      cases.push_back(settings);
      FileCase& c = cases.back();
      c.line = number;
      c.kind = what == "stays"              ? FileCase::Kind::stays
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

// What a graph computes, told by a name that may be one of its outputs or of what is in between.
Tensor value_of(const ir::Graph& graph, const std::map<std::string, Tensor>& feeds,
                const std::string& name) {
  const auto copy = graph.clone();
  ir::Value* v = copy->find(name);
  if (!v) fail(ErrorCode::not_found, "the graph before has no '{}'", name);
  while (!copy->outputs().empty()) copy->remove_output(0);
  copy->add_output(v);
  return evaluate_graph(*copy, feeds).at(name);
}

// Dimensions that are variable still.
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
  options.say = [](std::string_view) {};
  const auto reports = passes::run_passes(*graph, calls, options);
  const std::string made = ir::to_text(*graph);
  if (c.kind == FileCase::Kind::stays) {
    EXPECT_EQ(made, ir::to_text(*original));
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
  const bool inspects = passes::pass_of(GetParam()).kind != passes::PassKind::rewrite;
  EXPECT_TRUE(rewrites || inspects || elsewhere) << "no case in which the pass does something";
  EXPECT_TRUE(stays) << "no case that the pass leaves alone or refuses";
}

// The passes of PopRT 1.5, by name: each is here and has cases, or waits for what it belongs to.
TEST(PopRT, HasItsPassesAndEachHasCases) {
  const std::set<std::string> later = {
      // compares two models: option precision_compare, and a pass of Python
      "layer_precision_compare"};
  // What the text form of a graph cannot hold has tests of its own in core/passes/model, what
  // rounds in core/passes/precision.
  const std::set<std::string> elsewhere = {"remove_initializer_from_input", "eight_bits_io",
                                           "float_to_fp8", "float_to_int8", "float_to_mixed"};
  std::ifstream file(fs::path(POPRT_TEST_DATA) / "poprt_passes.txt");
  size_t count = 0;
  for (std::string name; std::getline(file, name); count++) {
    const passes::PassDef* pass = passes::find_pass(name);
    if (!later.contains(name)) EXPECT_NE(pass, nullptr) << name;
    if (pass && !elsewhere.contains(name) && !later.contains(name))
      EXPECT_TRUE(fs::exists(kFolder / (name + ".txt"))) << name;
  }
  EXPECT_EQ(count, 105u);
}

INSTANTIATE_TEST_SUITE_P(All, PassCases, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace poprt::test
