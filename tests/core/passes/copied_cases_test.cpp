// The cases of the passes in other surroundings: twice in one graph, in the branches of an If, and
// in graphs without inferred types. Results are compared with those before the pass; the operators
// and names of the nodes are recorded.
//
//   POPRT_WRITE_RECORDS=1 test_passes --gtest_filter='CopiedCases.*'   # then read the diff
#include <filesystem>
#include <unordered_map>

#include "core/passes/case_file.h"
#include "support/recorded_lines.h"

namespace poprt::test {
namespace {

namespace fs = std::filesystem;

using Map = std::unordered_map<const ir::Value*, ir::Value*>;

std::vector<FileCase> cases_of(const std::string& pass) {
  std::vector<FileCase> all =
      read_cases((fs::path(POPRT_TEST_DATA) / "passes" / (pass + ".txt")).string());
  std::erase_if(all, [](const FileCase& c) { return c.kind == FileCase::Kind::fails; });
  return all;
}

bool has_subgraphs(const ir::Graph& graph) {
  bool any = false;
  for (const ir::Node* n : graph.nodes())
    ir::for_each_subgraph(*n, [&](const ir::Graph&) { any = true; });
  return any;
}

// Copies the nodes of `from` to the end of `to`; `map` has the values that they read.
void copy_nodes(const ir::Graph& from, ir::Graph& to, Map& map, const std::string& suffix) {
  for (const ir::Node* n : from.nodes()) {
    std::vector<ir::Value*> inputs;
    for (const ir::Value* v : n->inputs()) inputs.push_back(v ? map.at(v) : nullptr);
    std::vector<std::string> names;
    for (const ir::Value* v : n->outputs()) names.push_back(v->name() + suffix);
    ir::Node* copy =
        to.add_node(n->op_type, n->domain, inputs, n->outputs().size(), nullptr, names);
    copy->name = n->name + suffix;
    copy->attributes = n->attributes;
    for (size_t i = 0; i < names.size(); i++) {
      copy->output(i)->type = n->output(i)->type;
      map[n->output(i)] = copy->output(i);
    }
  }
}

// Gives every node a unique name, so that the names of new nodes show their origin.
void name_nodes(ir::Graph& graph) {
  size_t number = 0;
  for (ir::Node* n : graph.nodes()) {
    number++;
    if (n->name.empty()) n->name = fmt::format("n{}", number);
  }
}

// The graph with a second copy of its nodes, which reads the same inputs and constants.
std::unique_ptr<ir::Graph> twice(const ir::Graph& graph) {
  auto both = graph.clone();
  name_nodes(*both);
  const auto once = both->clone();
  Map map;
  for (const ir::Value* v : once->values())
    if (!v->producer()) map[v] = both->find(v->name());
  copy_nodes(*once, *both, map, "_again");
  for (const ir::Value* v : once->outputs())
    if (v->producer()) both->add_output(map.at(v));
  return both;
}

// Returns an If whose branches both compute the graph; null if an output is an input or a constant,
// or is listed twice.
std::unique_ptr<ir::Graph> in_branches(const ir::Graph& graph) {
  const auto named = graph.clone();
  name_nodes(*named);
  auto outer = std::make_unique<ir::Graph>(graph.name);
  outer->opsets = graph.opsets;
  Map around;
  for (const ir::Value* v : named->values()) {
    if (v->producer()) continue;
    around[v] = v->is_constant() ? outer->add_constant(v->name(), v->constant())
                                 : outer->add_input(v->name(), v->type);
  }
  ir::Value* on = outer->add_input("on", ir::ValueType::of(DType::boolean, {}));
  std::vector<std::string> names;
  for (const ir::Value* v : named->outputs()) {
    if (!v->producer() || std::ranges::count(names, v->name())) return nullptr;
    names.push_back(v->name());
  }
  ir::Node* choice = outer->add_node("If", "", std::array{on}, names.size(), nullptr, names);
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto sub = std::make_shared<ir::Graph>(branch);
    sub->parent = outer.get();
    Map map = around;
    copy_nodes(*named, *sub, map, fmt::format("_{:.1}", branch));
    for (const ir::Value* v : named->outputs()) sub->add_output(map.at(v));
    choice->attributes[branch] = sub;
  }
  for (size_t i = 0; i < names.size(); i++) choice->output(i)->type = named->outputs()[i]->type;
  return outer;
}

std::string ops_and_names(const ir::Graph& graph) {
  std::string text;
  for (const ir::Node* n : graph.nodes()) {
    text += fmt::format(" {}{}{}:{}", n->domain, n->domain.empty() ? "" : ".", n->op_type, n->name);
    ir::for_each_subgraph(
        *n, [&](const ir::Graph& sub) { text += fmt::format(" ({} )", ops_and_names(sub)); });
  }
  return text;
}

struct Outcome {
  int64_t rewrites = 0;
  std::string text;  // the remaining nodes, or the reason of the refusal
  bool refused = false;
};

Outcome run_on(ir::Graph& graph, const std::vector<passes::PassCall>& calls,
               int64_t limit = INT64_MAX) {
  passes::PassManagerOptions options;
  options.print = [](std::string_view) {};
  options.rewrite_limit = limit;
  try {
    const int64_t rewrites = passes::run_passes(graph, calls, options).at(0).rewrites;
    return {rewrites, ops_and_names(graph), false};
  } catch (const Error& e) {
    return {0, " " + e.message().substr(0, 100), true};
  }
}

// Whether both graphs have the same static inputs, so that results can be compared.
bool same_inputs(const ir::Graph& a, const ir::Graph& b) {
  const auto type = [](const ir::Value* v) { return v->name() + ir::type_string(v->type); };
  return std::ranges::equal(a.inputs(), b.inputs(), {}, type, type) &&
         std::ranges::all_of(a.inputs(), [](const ir::Value* v) { return v->type.is_static(); });
}

void expect_same_numbers(const ir::Graph& before, const ir::Graph& after, const FileCase& c,
                         bool rounds) {
  if (!c.measured || rounds || !same_inputs(before, after)) return;
  std::map<std::string, Tensor> feeds, wanted;
  try {
    feeds = random_feeds(before);
    wanted = evaluate_graph(before, feeds);
  } catch (const Error&) {
    return;  // it cannot be fed or computed
  }
  const auto found = evaluate_graph(after, feeds);
  const bool halves = std::ranges::any_of(
      before.inputs(), [](const ir::Value* v) { return v->dtype() == DType::f16; });
  const double tolerance = std::max(c.tolerance, halves ? 1e-2 : 0.0);
  for (const auto& [name, tensor] : found)  // a pass may add and remove outputs
    if (wanted.contains(name)) expect_close(wanted.at(name), tensor, tolerance, name);
}

// Each graph has two copies of a case. One rewrite is allowed, or all.
TEST(CopiedCases, RewritesEachCopyUpToTheLimit) {
  RecordedLines found;
  for (const std::string& name : case_names()) {
    const passes::PassDef& pass = passes::pass_of(name);
    for (const FileCase& c : cases_of(name)) {
      SCOPED_TRACE(fmt::format("{}.txt:{}", name, c.line));
      const auto original = parsed(c.before, c.opset);
      if (has_subgraphs(*original)) continue;
      const std::vector<passes::PassCall> calls{{&pass, c.arguments}};
      const auto before = twice(*original), after = before->clone(), part = before->clone();
      const Outcome all = run_on(*after, calls);
      found[name].insert(fmt::format("{}:{}", c.line, all.text));
      if (all.refused) continue;
      EXPECT_EQ(run_on(*part, calls, 1).rewrites, std::min<int64_t>(all.rewrites, 1));
      const bool rounds = pass.numerics == passes::Numerics::precision;
      ASSERT_NO_THROW(expect_same_numbers(*before, *after, c, rounds));
      ASSERT_NO_THROW(expect_same_numbers(*before, *part, c, rounds));
    }
  }
  expect_digests(found, POPRT_TEST_DATA "/passes_twice.txt",
                 "What passes make of two copies of their cases: copied_cases_test.cpp.");
}

TEST(CopiedCases, BranchesAreRewrittenAsTheGraphIs) {
  RecordedLines found;
  for (const std::string& name : case_names()) {
    const passes::PassDef& pass = passes::pass_of(name);
    for (const FileCase& c : cases_of(name)) {
      SCOPED_TRACE(fmt::format("{}.txt:{}", name, c.line));
      const auto original = parsed(c.before, c.opset);
      const auto before = has_subgraphs(*original) ? nullptr : in_branches(*original);
      if (!before) continue;
      const std::vector<passes::PassCall> calls{{&pass, c.arguments}};
      const auto after = before->clone();
      const Outcome all = run_on(*after, calls);
      found[name].insert(fmt::format("{}:{}", c.line, all.text));
      const bool rounds = pass.numerics == passes::Numerics::precision;
      if (!all.refused) ASSERT_NO_THROW(expect_same_numbers(*before, *after, c, rounds));
    }
  }
  expect_digests(found, POPRT_TEST_DATA "/passes_in_branches.txt",
                 "What passes make of their cases in branches: copied_cases_test.cpp.");
}

// Without types, a pass refuses the graph or does not change the nodes for which it needs types.
TEST(CopiedCases, GraphsWithoutTypesComputeTheSame) {
  RecordedLines found;
  for (const std::string& name : case_names()) {
    const passes::PassDef& pass = passes::pass_of(name);
    for (const FileCase& c : cases_of(name)) {
      SCOPED_TRACE(fmt::format("{}.txt:{}", name, c.line));
      const auto before = parsed(c.before, c.opset), after = before->clone();
      for (const ir::Node* n : after->nodes())
        for (ir::Value* v : n->outputs()) v->type = {};
      const Outcome all = run_on(*after, {{&pass, c.arguments}});
      found[name].insert(fmt::format("{}:{}", c.line, all.text));
      if (all.refused || !same_inputs(*before, *after)) continue;
      ASSERT_NO_THROW(run(*after, {"shape_inference"}));
      const bool rounds = pass.numerics == passes::Numerics::precision;
      ASSERT_NO_THROW(expect_same_numbers(*before, *after, c, rounds));
    }
  }
  expect_digests(found, POPRT_TEST_DATA "/passes_without_types.txt",
                 "What passes make of their cases without types: copied_cases_test.cpp.");
}

// A pass changes nothing if no rewrite is allowed.
TEST(CopiedCases, PassesKeepTheGraphIfNoRewriteIsAllowed) {
  for (const std::string& name : case_names())
    for (const FileCase& c : cases_of(name)) {
      if (c.kind != FileCase::Kind::rewrites) continue;
      SCOPED_TRACE(fmt::format("{}.txt:{}", name, c.line));
      const std::vector<passes::PassCall> calls{{&passes::pass_of(name), c.arguments}};
      for (const Altered& b : alterations_of(*parsed(c.before, c.opset), Alterations::usual)) {
        if (run_on(*b.graph, calls_of({"shape_inference"})).refused) continue;
        const std::string text = ir::to_text(*b.graph);
        const Outcome none = run_on(*b.graph, calls, 0);
        if (!none.refused) EXPECT_EQ(ir::to_text(*b.graph), text) << b.what;
      }
    }
}

}  // namespace
}  // namespace poprt::test
