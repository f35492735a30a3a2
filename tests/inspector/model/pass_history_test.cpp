#include "model/pass_history.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "compiler/fuse_graphs.h"
#include "inspector/sample_files.h"
#include "model/graph_query.h"
#include "model/report.h"

namespace poprt::inspector {
namespace {

std::shared_ptr<const GraphModel> graph_of(const char* nodes) {
  return std::make_shared<GraphModel>(*ir::parse_text(
      std::string("graph \"net\" opset {\"\": 17} {\n input %x : f32[2]\n") + nodes + "}"));
}

// One more step of a compilation, with its changes.
void append_step(Compilation& made, const char* name, const char* nodes) {
  PassStep step;
  step.name = name;
  step.graph = graph_of(nodes);
  if (!made.steps.empty())
    step.changes =
        std::make_shared<GraphChanges>(changes_between(*made.steps.back().graph, *step.graph));
  made.steps.push_back(std::move(step));
}

// Four graphs, as if passes had made them.
class NodeHistory : public testing::Test {
 protected:
  void SetUp() override {
    add("model", R"(%a : f32[2] = Relu(%x) "relu"
                    %b : f32[2] = Identity(%a) "same"
                    %c : f32[2] = Sigmoid(%b) "gate"
                    %d : f32[2] = Mul(%c, %c) "square"
                    output %d)");
    add("eliminate_identity", R"(%a : f32[2] = Relu(%x) "relu"
                    %c : f32[2] = Sigmoid(%a) "gate"
                    %d : f32[2] = Mul(%c, %c) "square"
                    output %d)");
    add("fuse", R"(%c : f32[2] = Tanh(%x) "gate"
                    %d : f32[2] = Mul(%c, %c) "square"
                    output %d)");
    add("layout", R"(%blocked : f32[2] = Tanh(%x) "gate"
                    %back : f32[2] = Neg(%blocked) "reorder"
                    %d : f32[2] = Mul(%back, %back) "square"
                    output %d)");
  }
  void add(const char* name, const char* nodes) { append_step(made, name, nodes); }
  std::vector<std::string> history(int step, const char* node) {
    std::vector<std::string> lines;
    const auto& graph = *made.steps[static_cast<size_t>(step)].graph;
    for (const NodeEvent& e : history_of(made, step, graph.find(node)))
      lines.push_back(made.steps[static_cast<size_t>(e.step)].name + ": " + event_text(e));
    return lines;
  }
  Compilation made;
};

TEST_F(NodeHistory, FollowsANodeThatIsFusedIntoItsReader) {
  EXPECT_EQ(history(0, "relu"),
            (std::vector<std::string>{"model: in the model as Relu",
                                      "fuse: removed Relu: fused into, or bypassed by, Tanh gate",
                                      "layout: changed its inputs, attributes or types"}));
}

TEST_F(NodeHistory, NamesTheNodeThatReplacesARemovedOne) {
  const auto lines = history(0, "same");
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[1],
            "eliminate_identity: removed Identity: fused into, or bypassed by, Sigmoid gate");
}

TEST_F(NodeHistory, IsTheSameFromEveryStepOfANode) {
  const auto lines = history(0, "gate");
  EXPECT_EQ(lines, history(1, "gate"));
  EXPECT_EQ(lines,
            history(3, "gate"));  // found by its name, because its value has another name there
  EXPECT_EQ(lines[2], "fuse: Sigmoid became Tanh");
}

TEST_F(NodeHistory, NamesThePassThatMadeANode) {
  EXPECT_EQ(history(3, "reorder"), (std::vector<std::string>{"layout: made it: Neg"}));
}

TEST_F(NodeHistory, OfAnUnchangedNodeIsOnlyItsOrigin) {
  made.steps.resize(1);
  EXPECT_EQ(history(0, "square"), (std::vector<std::string>{"model: in the model as Mul"}));
}

TEST(PassReport, AStepIsListedNodeByNodeAndANodeStepByStep) {
  SampleFolder folder("passes");
  Progress progress;
  const Document d = load_document(folder.write("a.ir", kSampleText), progress);
  const Compilation c = compile_with_history(*d.ir);
  ReportOptions options;
  for (size_t i = 0; i < c.steps.size(); i++) {
    options.step = static_cast<int>(i);
    const auto tables = report(d, "passes", options, &c);
    EXPECT_EQ(tables.at(0).rows.size(), c.steps[i].added + c.steps[i].removed + c.steps[i].changed);
  }
  options.step = static_cast<int>(c.steps.size());
  EXPECT_THROW(report(d, "passes", options, &c), Error);
  options = {};
  options.node = "/block/fc/Relu";
  const auto tables = report(d, "passes", options, &c);
  EXPECT_EQ(tables.back().name, "history");
  EXPECT_EQ(std::get<std::string>(tables.back().rows.at(0)[1]), "model");
}

// Unrolling a loop is not attributed to a pass. Otherwise the next pass with a rewrite would seem
// to have created the nodes of all iterations.
TEST(PassHistory, WrittenOutLoopsAreNoPasssWork) {
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
  input %x : f32[3]
  const %m : s64[] = 4
  %y : ? = Loop(%m, _, %x) {body = graph "b" { input %i : s64[] input %c : bool[] input %u : f32[3] %d : ? = Identity(%c) %n : ? = Sin(%u) output %d output %n }}
  output %y
}
)");
  const Compilation c = compile_with_history(*graph);
  ASSERT_EQ(c.error, "");
  const auto step =
      std::find_if(c.steps.begin(), c.steps.end(), [](const PassStep& s) { return s.added > 0; });
  ASSERT_NE(step, c.steps.end());
  EXPECT_EQ(step->name, "control flow");
  EXPECT_NE(step->summary, "");
  EXPECT_EQ(search_nodes(*step->graph, "op:Sin").size(), 4u);
  for (auto next = step + 1; next != c.steps.end(); ++next)
    EXPECT_EQ(next->added, 0u) << next->name;
}

// A node of a body keeps its history although the compiler gives the copies of it other names.
TEST(PassHistory, NodesOfBodiesAreFollowed) {
  const auto graph = ir::parse_text(kControlFlowText);
  const Compilation c = compile_with_history(*graph);
  ASSERT_EQ(c.error, "");
  const GraphModel& model = *c.steps[0].graph;
  for (const char* name : {"product", "sine", "double"}) {
    const auto events = history_of(c, 0, model.find(name));
    ASSERT_GT(events.size(), 1u) << name;
    EXPECT_EQ(c.steps[static_cast<size_t>(events[1].step)].name, "control flow");
    EXPECT_EQ(events[1].change, Change::changed) << name << ": " << event_text(events[1]);
  }
  // Each copy of a node of an unrolled loop begins at the node of the model.
  const auto step = std::find_if(c.steps.begin(), c.steps.end(),
                                 [](const PassStep& s) { return s.name == "control flow"; });
  ASSERT_NE(step, c.steps.end());
  const auto copies = search_nodes(*step->graph, "op:Sin");
  ASSERT_EQ(copies.size(), 3u);
  for (const int copy : copies) {
    const auto events = history_of(c, static_cast<int>(step - c.steps.begin()), copy);
    EXPECT_EQ(events.at(0).step, 0);
    EXPECT_EQ(events.at(0).node, "sine");
  }
}

// The types that follow from given shapes are not the work of the first pass with a rewrite.
TEST(PassHistory, GivenShapesAreNoPasssWork) {
  const auto changes_of = [](const char* size) {
    const auto graph = ir::parse_text(fmt::format(R"(graph "g" opset {{"": 17}} {{
  input %x : f32[{0},4]
  %a : f32[{0},4] = Relu(%x) "relu"
  %b : f32[{0},4] = Identity(%a) "same"
  %y : f32[{0},4] = Sigmoid(%b) "gate"
  output %y
}}
)",
                                                  size));
    std::string assumed;
    const Compilation c = compile_with_history(*graph, options_for_inspection(*graph, assumed));
    EXPECT_EQ(c.error, "");
    std::vector<std::string> lines;
    for (const PassStep& s : c.steps)
      if (s.added + s.removed + s.changed > 0)
        lines.push_back(fmt::format("{} +{} -{} ~{}", s.name, s.added, s.removed, s.changed));
    const GraphModel& last = *c.steps.back().graph;
    EXPECT_EQ(last.value(last.node(last.find("x")).outputs[0]).type,
              fmt::format("f32[{},4]", *size == 'N' ? "1" : size));
    return lines;
  };
  const auto fixed = changes_of("2");
  ASSERT_FALSE(fixed.empty());
  EXPECT_EQ(fixed[0], "eliminate_identity +0 -1 ~1");
  EXPECT_EQ(changes_of("N"), fixed);
}

TEST(PassHistoryShapes, OpenDimensionsAreAsChosen) {
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
  input %image : f32[?,3,?,?]
  input %last : f32[1,?,?,3]
  input %other : f32[?,4]
  %a : f32[?,3,?,?] = Relu(%image)
  %b : f32[1,?,?,3] = Relu(%last)
  %c : f32[?,4] = Relu(%other)
  output %a
  output %b
  output %c
}
)");
  std::string assumed;
  EXPECT_EQ(shapes_text(*graph), "image=1,3,224,224 last=1,224,224,3 other=1,4");
  const ChosenShapes chosen = read_shapes("image=2,3,8,8  other=5,4");
  const auto options = options_for_inspection(*graph, assumed, chosen);
  EXPECT_EQ(assumed, "last=1×224×224×3");
  EXPECT_EQ(options.shapes.at(0).at("image"), (Shape{2, 3, 8, 8}));
  EXPECT_EQ(shapes_text(*graph, chosen), "image=2,3,8,8 last=1,224,224,3 other=5,4");
  const auto message_for = [&](const char* words) -> std::string {
    try {
      options_for_inspection(*graph, assumed, read_shapes(words));
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_EQ(message_for("nobody=1"), "the model has no input 'nobody'");
  EXPECT_NE(message_for("other=1,5").find("which does not match 1×5"), std::string::npos);
  EXPECT_NE(message_for("other=1").find("which does not match 1"), std::string::npos);
  for (const char* wrong : {"other", "=1", "other=a", "other=1,,2", "other=-1", "other=1x2"})
    EXPECT_NE(message_for(wrong).find("expected NAME=1,3,224,224"), std::string::npos) << wrong;
}

// Nodes of branches and bodies count like others, so that the counts of a step agree.
TEST(PassHistory, CountsIncludeBranchesAndBodies) {
  const auto graph = ir::parse_text(kControlFlowText);
  const Compilation c = compile_with_history(*graph);
  ASSERT_EQ(c.error, "");
  EXPECT_EQ(c.steps[0].nodes_after, 14u);
  EXPECT_EQ(c.steps[0].nodes_after, GraphModel(*graph).operator_count());
  size_t most = 0;
  for (const PassStep& s : c.steps) {
    EXPECT_EQ(s.nodes_after, s.nodes_before + s.added - s.removed) << s.name;
    most = std::max(most, s.added);
  }
  EXPECT_GT(most, 0u) << "the loop is unrolled";
}

TEST(PassHistory, StepsHaveASummaryAndCounts) {
  std::vector<std::pair<double, std::string>> reports;
  const auto graph = ir::parse_text(kSampleText);
  const Compilation c = compile_with_history(
      *graph, {}, nullptr,
      [&](double done, std::string_view what) { reports.emplace_back(done, what); });
  ASSERT_EQ(c.error, "");
  ASSERT_GT(c.steps.size(), 2u);
  EXPECT_EQ(c.steps[0].stage, "model");
  EXPECT_NE(c.steps[0].summary, "");
  EXPECT_EQ(c.steps[0].nodes_before, graph->node_count());
  EXPECT_EQ(c.steps[0].nodes_after, graph->node_count());
  EXPECT_EQ(c.steps[0].rewrites, 0);
  EXPECT_EQ(c.steps[0].milliseconds, 0);
  EXPECT_FALSE(c.steps[0].changes);
  int64_t rewrites = 0;
  double milliseconds = 0;
  for (size_t i = 1; i < c.steps.size(); i++) {
    const PassStep &s = c.steps[i], &before = c.steps[i - 1];
    EXPECT_TRUE(s.stage == "convert" || (s.stage == "compile" && before.stage != "model"))
        << s.name;
    EXPECT_FALSE(s.stage == "convert" && before.stage == "compile") << s.name;
    EXPECT_NE(s.summary, "") << s.name;
    EXPECT_EQ(s.nodes_before, before.nodes_after) << s.name;
    EXPECT_EQ(s.changes != nullptr, s.rewrites > 0 || s.nodes_before != s.nodes_after) << s.name;
    EXPECT_EQ(s.graph == before.graph, s.changes == nullptr) << s.name;
    rewrites += s.rewrites;
    milliseconds += s.milliseconds;
  }
  EXPECT_GT(rewrites, 0);
  EXPECT_GT(milliseconds, 0);
  EXPECT_EQ(c.steps.back().stage, "compile");
  // The reports extend from the conversion to the end of the compilation.
  ASSERT_FALSE(reports.empty());
  for (size_t i = 1; i < reports.size(); i++) EXPECT_GE(reports[i].first, reports[i - 1].first);
  EXPECT_GE(reports.front().first, 0);
  EXPECT_LT(reports.front().first, 0.5);
  EXPECT_GT(reports.back().first, 0.5);
  EXPECT_LE(reports.back().first, 1);
}

TEST(PassHistory, IsCancelledFromOutsideAtAnyMoment) {
  const auto graph = ir::parse_text(kSampleText);
  for (const double when : {0.0, 0.5}) {
    std::atomic<bool> cancel{false};
    try {
      compile_with_history(*graph, {}, &cancel, [&](double done, std::string_view) {
        if (done >= when) cancel = true;
      });
      ADD_FAILURE() << "compiled, " << when;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::cancelled);
    }
  }
}

std::unique_ptr<ir::Graph> fused_models() {
  std::vector<std::unique_ptr<ir::Graph>> graphs;
  for (const char* name : {"one", "two"})
    graphs.push_back(ir::parse_text("graph \"" + std::string(name) + R"(" opset {"": 17} {
  input %x : f32[?,2]
  %a : f32[?,2] = Identity(%x) "nothing"
  %y : f32[?,2] = Relu(%a) "last"
  output %y
})"));
  return compiler::fuse_graphs(std::move(graphs), {"one", "two"});
}

// Indices of the steps that begin a part.
std::vector<size_t> beginnings(const Compilation& c) {
  std::vector<size_t> found;
  for (size_t i = 0; i < c.steps.size(); i++)
    if (c.steps[i].stage == "model") found.push_back(i);
  return found;
}

std::vector<std::string> lines_of(const Compilation& c, int step, const char* node) {
  std::vector<std::string> lines;
  const GraphModel& graph = *c.steps[static_cast<size_t>(step)].graph;
  for (const NodeEvent& e : history_of(c, step, graph.find(node)))
    lines.push_back(fmt::format("{} {}", c.steps[static_cast<size_t>(e.step)].name, event_text(e)));
  return lines;
}

TEST(PassHistory, StepsOfAFusedModelIncludeEachModel) {
  const auto fused = fused_models();
  std::string assumed;
  const Compilation c = compile_with_history(*fused, options_for_inspection(*fused, assumed));
  EXPECT_EQ(c.error, "");
  ASSERT_TRUE(c.program);
  EXPECT_EQ(program_model(c)->parts().size(), 2u);
  const auto begin = beginnings(c);
  ASSERT_EQ(begin.size(), 3u);
  EXPECT_EQ(begin[0], 0u);
  EXPECT_EQ(begin[1], 1u) << "the whole is no step of its own beyond the model";
  EXPECT_EQ(c.steps[begin[1]].name, "graph0 one");
  EXPECT_EQ(c.steps[begin[2]].name, "graph1 two");
  for (size_t i = 1; i < c.steps.size(); i++) {
    const bool second = i >= begin[2];
    EXPECT_EQ(c.steps[i].graph->find("graph0/x") != kNone, !second) << i;
    EXPECT_EQ(c.steps[i].graph->find("graph1/x") != kNone, second) << i;
  }
}

TEST(PassHistory, ANodeIsFollowedThroughThePartThatContainsIt) {
  const auto fused = fused_models();
  std::string assumed;
  const Compilation c = compile_with_history(*fused, options_for_inspection(*fused, assumed));
  const auto lines = lines_of(c, 0, "graph1/nothing");
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0], "model in the model as Identity");
  EXPECT_EQ(lines[1], "graph1 two in the model as Identity");
  EXPECT_EQ(lines[2],
            "eliminate_identity removed Identity: fused into, or bypassed by, Relu graph1/last");
  const auto own = lines_of(c, static_cast<int>(beginnings(c)[2]), "graph1/nothing");
  EXPECT_EQ(own, std::vector<std::string>(lines.begin() + 1, lines.end()));
  const auto first = lines_of(c, 0, "graph0/last");
  EXPECT_EQ(std::ranges::count(first, "graph0 one in the model as Relu"), 1);
  EXPECT_EQ(std::ranges::count(first, "graph1 two in the model as Relu"), 0);
}

TEST(PassHistory, AModelAtSeveralShapesHasTheStepsOfEachShape) {
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
  input %x : f32[N,2]
  %a : f32[N,2] = Identity(%x) "nothing"
  %y : f32[N,2] = Relu(%a) "last"
  output %y
})");
  std::string assumed;
  const Compilation c = compile_with_history(
      *graph, options_for_inspection(*graph, assumed, read_shapes("x=4,2/1,2")));
  ASSERT_EQ(c.error, "");
  const auto begin = beginnings(c);
  ASSERT_EQ(begin.size(), 3u);
  EXPECT_EQ(c.steps[begin[1]].name, "shape 1 of 2");
  EXPECT_EQ(c.steps[begin[2]].name, "shape 2 of 2");
  const auto parts = program_model(c)->parts();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "N 1");
  EXPECT_EQ(parts[1].name, "N 4");
  EXPECT_EQ(std::ranges::count(lines_of(c, 0, "last"), "shape 2 of 2 in the model as Relu"), 1);
}

TEST(PassHistoryShapes, AssumesOneForOpenDimensionsAndKeepsZeros) {
  const auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
  input %a : f32[?,3,0,?]
  input %b : f32[?,3,?,0]
  input %c : f32[0]
  %y : f32[?,3,0,?] = Relu(%a)
  output %y
}
)");
  EXPECT_EQ(shapes_text(*graph), "a=1,3,0,1 b=1,3,1,0");
  std::string assumed;
  EXPECT_THROW(options_for_inspection(*graph, assumed, {{"c", {{3}}}}), Error);
}

// A value that no later node reads continues in the value above it, or in none.
TEST(NodeHistories, ContinueInTheReplacementNode) {
  Compilation made;
  const auto add = [&](const char* name, const char* nodes) { append_step(made, name, nodes); };
  const auto history = [&](const char* node) {
    std::vector<std::string> lines;
    for (const NodeEvent& e : history_of(made, 0, made.steps[0].graph->find(node)))
      lines.push_back(event_text(e));
    return lines;
  };
  add("model", R"(%a : f32[2] = Neg(%x) "first"
                  %b : f32[2] = Conv(%a) "conv"
                  %c : f32[2] = Relu(%b) "relu"
                  %d : f32[2] = Identity(%c) "same"
                  %e : f32[2] = Abs(%x) "apart"
                  output %d
                  output %a)");
  // The activation and Identity are merged into the convolution, which now computes their value.
  add("fuse", R"(%a : f32[2] = Neg(%x) "first"
                 %b : f32[2] = Conv(%a) {activation = "Relu"} "conv"
                 output %b
                 output %a)");
  add("again", R"(%a : f32[2] = Neg(%x) "first"
                  %b : f32[2] = FusedConv(%a) "conv"
                  output %b
                  output %a)");
  using Lines = std::vector<std::string>;
  const std::string into = "fused into, or bypassed by, Conv conv";
  EXPECT_EQ(history("relu"),
            (Lines{"in the model as Relu", "removed Relu: " + into, "Conv became FusedConv"}));
  EXPECT_EQ(history("same"), (Lines{"in the model as Identity", "removed Identity: " + into,
                                    "Conv became FusedConv"}));
  EXPECT_EQ(history("apart"), (Lines{"in the model as Abs", "removed it because it is unused"}));
  EXPECT_EQ(history("first"), Lines{"in the model as Neg"});
}

}  // namespace
}  // namespace poprt::inspector
