#include "model/graph_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ir/text.h"
#include "model/diff.h"
#include "model/graph_layout.h"
#include "model/graph_query.h"
#include "model/graph_svg.h"
#include "model/pass_history.h"

namespace poprt::inspector {
namespace {

constexpr const char* kText = R"(graph "net" opset {"": 17} {
  input %x : f32[1,4]
  const %w : f32[4,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
  %a : f32[1,2] = MatMul(%x, %w) "/block/fc/MatMul"
  %b : f32[1,2] = Relu(%a) "/block/fc/Relu"
  %c : f32[1,2] = Sigmoid(%b) "/block/Sigmoid"
  %d : f32[1,2] = Add(%b, %c) "/Add"
  output %d
})";

std::shared_ptr<GraphModel> model(const char* text = kText) {
  return std::make_shared<GraphModel>(*ir::parse_text(text));
}

TEST(GraphModel, InputsAndOutputsAreNodesAndConstantsAreWeights) {
  const auto g = model();
  EXPECT_EQ(g->nodes().size(), 6u);
  const GraphNode& matmul = g->node(g->find("/block/fc/MatMul"));
  EXPECT_EQ(matmul.op, "MatMul");
  EXPECT_EQ(matmul.weight_bytes, 32u);
  EXPECT_EQ(matmul.detail, "4×2");
  EXPECT_EQ(g->weight_bytes(), 32u);
  EXPECT_EQ(g->edge_count(), 6u);
}

TEST(GraphModel, NamesWithACommonPrefixAreGroups) {
  const auto g = model();
  ASSERT_EQ(g->groups().size(), 3u);
  EXPECT_EQ(g->group(1).path, "block");
  EXPECT_EQ(g->group(2).path, "block/fc");
  EXPECT_EQ(g->group(2).parent, 1);
  EXPECT_EQ(g->group(1).all_nodes, 3u);
  EXPECT_EQ(g->node(g->find("/Add")).group, kRoot);
}

// Names that number the nodes of each operator are no names of layers.
TEST(GraphModel, NamesOfOperatorsAreNoGroups) {
  std::string text = "graph \"g\" opset {\"\": 17} {\n  input %v0 : f32[1]\n";
  for (int i = 0; i < 6; i++) {
    const std::string op = i % 2 ? "Relu" : "Tanh", n = std::to_string(i);
    text += "  %v" + std::to_string(i + 1) + " : f32[1] = " + op + "(%v" + n + ") \"p2o." + op +
            "." + n + "\"\n";
  }
  const GraphModel g(*ir::parse_text(text + "  output %v6\n}\n"));
  EXPECT_EQ(g.groups().size(), 1u) << "and a group of all nodes is not useful";
}

// A large graph is shown with closed bodies at first.
TEST(GraphLayout, BodiesOfLargeGraphsBeginClosed) {
  for (const int nodes : {10, 200}) {
    std::string text =
        "graph \"g\" opset {\"\": 17} {\n  input %c : bool[]\n  input %v0 : f32[1]\n";
    for (int i = 0; i < nodes; i++)
      text += "  %v" + std::to_string(i + 1) + " : f32[1] = Relu(%v" + std::to_string(i) + ")\n";
    const std::string last = "%v" + std::to_string(nodes);
    text += "  %y : f32[1] = If(%c) {else_branch = graph \"e\" { %n : f32[1] = Neg(" + last +
            ") output %n }, then_branch = graph \"t\" { %m : f32[1] = Abs(" + last +
            ") output %m }} \"choose\"\n  output %y\n}\n";
    const auto g = std::make_shared<GraphModel>(*ir::parse_text(text));
    ASSERT_EQ(g->groups().size(), 3u);
    EXPECT_EQ(GraphLayout(g).groups_within(400).size(), nodes < 100 ? 2u : 0u);
  }
}

TEST(GraphModel, SubgraphsAreGroups) {
  const auto g = model(R"(graph "g" opset {"": 17} {
    input %c : bool[]
    input %x : f32[2]
    %y : f32[2] = If(%c) {else_branch = graph "e" { %n : f32[2] = Neg(%x) output %n }, then_branch = graph "t" { %m : f32[2] = Abs(%x) output %m }} "choose"
    output %y
  })");
  ASSERT_EQ(g->groups().size(), 3u);
  EXPECT_TRUE(g->group(1).is_subgraph);
  EXPECT_EQ(g->group(1).name, "choose e");
  // What a branch captures from outside is an edge into the group.
  const int neg = g->find("n");
  EXPECT_EQ(g->predecessors(neg), std::vector<int>{g->find("x")});
}

TEST(GraphModel, ABodyIsCalledByTheLastPartOfItsNodesName) {
  const auto g = model(R"(graph "g" opset {"": 17} {
    input %c : bool[]
    input %x : f32[2]
    %z : f32[2] = Relu(%x) "/decoder/step/Relu"
    %y : f32[2] = If(%c) {else_branch = graph "e" { %n : f32[2] = Neg(%z) output %n }, then_branch = graph "t" { %m : f32[2] = Abs(%z) output %m }} "/decoder/step/If"
    %v : f32[2] = Relu(%y) "/head/Relu"
    %w : f32[2] = Tanh(%v) "/head/Tanh"
    output %w
  })");
  std::vector<std::string> bodies;
  for (const GraphGroup& group : g->groups())
    if (group.is_subgraph) bodies.push_back(group.name);
  EXPECT_EQ(bodies, (std::vector<std::string>{"If e", "If t"}));
}

TEST(GraphQuery, SearchesByWordsAndFields) {
  const auto g = model();
  EXPECT_EQ(search_nodes(*g, "op:relu"), std::vector<int>{g->find("/block/fc/Relu")});
  EXPECT_EQ(search_nodes(*g, "name:fc op:mat"), std::vector<int>{g->find("/block/fc/MatMul")});
  EXPECT_EQ(search_nodes(*g, "shape:4x2"), std::vector<int>{g->find("/block/fc/MatMul")});
  EXPECT_EQ(search_nodes(*g, "dtype:f32").size(), 6u);
  const std::vector<int> matmul = {g->find("/block/fc/MatMul")};
  EXPECT_EQ(search_nodes(*g, "weight:4x2"), matmul);
  EXPECT_EQ(search_nodes(*g, "weight:*x2"), matmul);
  EXPECT_EQ(search_nodes(*g, "in:1x4 op:matmul"), matmul);
  EXPECT_TRUE(search_nodes(*g, "out:4x2").empty());
  EXPECT_TRUE(search_nodes(*g, "weight:*").empty()) << "a shape of one dimension";
  EXPECT_TRUE(search_nodes(*g, "weight:*x*x*").empty());
  EXPECT_TRUE(search_nodes(*g, "attr:group=1").empty());
  EXPECT_EQ(search_nodes(*g, "weight:4x*"), matmul);
  EXPECT_TRUE(search_nodes(*g, "weight:5x*").empty());
  EXPECT_TRUE(search_nodes(*g, "weight:*x3").empty());
  EXPECT_TRUE(search_nodes(*g, "weight:14x2x7").empty()) << "more than the shape has";
  EXPECT_TRUE(search_nodes(*g, "").empty());
  EXPECT_TRUE(search_nodes(*g, "nothing").empty());
}

// A weight that several nodes of a group read counts once.
TEST(GraphModel, SizesOfWeightsCountEachWeightOnce) {
  const GraphModel g(*ir::parse_text(R"(graph "net" opset {"": 17} {
  input %i : s64[1]
  const %table : f32[4,4] = fill 0.5
  const %b : f32[4] = [1.0, 2.0, 3.0, 4.0]
  %e : f32[1,4] = Gather(%table, %i) "/in/gather"
  %s : f32[1,4] = Add(%e, %b) "/in/add"
  %m : f32[1,4] = MatMul(%s, %table) "/out/product"
  %n : f32[4] = Add(%b, %b) "/out/twice"
  %o : f32[1,4] = Add(%m, %n) "/out/last"
  output %o
})"));
  EXPECT_EQ(g.weight_bytes(), 80u);
  for (const char* node : {"/in/gather", "/out/product"}) {
    EXPECT_EQ(g.node(g.find(node)).weight_bytes, 64u);
    EXPECT_EQ(g.group(g.node(g.find(node)).group).weight_bytes, 80u);
  }
  std::vector<std::string> names;
  for (const int v : largest_weights(g, 12)) names.push_back(g.value(v).name);
  EXPECT_EQ(names, (std::vector<std::string>{"table", "b"}));
}

TEST(GraphQuery, NeighbourhoodAndPaths) {
  const auto g = model();
  const int matmul = g->find("/block/fc/MatMul"), relu = g->find("/block/fc/Relu"),
            add = g->find("/Add");
  const auto near = neighbourhood(*g, matmul, 1);
  EXPECT_EQ(near.size(), 3u);
  EXPECT_EQ(path_between(*g, matmul, add), (std::vector<int>{matmul, relu, add}));
  EXPECT_EQ(path_between(*g, add, matmul), (std::vector<int>{matmul, relu, add}));
  EXPECT_EQ(largest_weights(*g, 5), std::vector<int>{g->node(matmul).inputs[1]});
}

TEST(GraphLayout, ClosedGroupsHideTheirNodesAndOpenOnesHoldThem) {
  const auto g = model();
  GraphLayout layout(g);
  const auto closed = layout.scene({});
  EXPECT_EQ(closed->boxes.size(), 4u);  // x, block, Add, d
  const int relu = g->find("/block/fc/Relu");
  EXPECT_EQ(closed->find(*g, relu)->group, 1);
  const auto open = layout.scene(layout.all_groups());
  const SceneBox& inner = *open->find(*g, relu);
  EXPECT_EQ(inner.node, relu);
  const Rect& outer = open->boxes[open->box_of_group.at(2)].area;
  EXPECT_TRUE(outer.contains({inner.area.x, inner.area.y}) &&
              outer.contains({inner.area.right(), inner.area.bottom()}));
}

TEST(GraphLayout, OpeningAGroupKeepsTheOrderAround) {
  const auto g = model();
  GraphLayout layout(g);
  const auto closed = layout.scene({}), open = layout.scene({1});
  const int x = g->find("x"), add = g->find("/Add");
  for (const auto& scene : {closed, open}) {
    EXPECT_LT(scene->find(*g, x)->area.y, scene->boxes[scene->box_of_group.at(1)].area.y);
    EXPECT_LT(scene->boxes[scene->box_of_group.at(1)].area.bottom(), scene->find(*g, add)->area.y);
  }
  EXPECT_EQ(layout.scene({})->height, closed->height);
}

TEST(GraphLayout, RoutesReachIntoOpenGroups) {
  const auto g = model();
  GraphLayout layout(g);
  const auto scene = layout.scene(layout.all_groups());
  const SceneBox& matmul = *scene->find(*g, g->find("/block/fc/MatMul"));
  const bool reached =
      std::any_of(scene->routes.begin(), scene->routes.end(), [&](const SceneRoute& r) {
        return g->value(r.value).name == "x" && r.arrow &&
               std::abs(r.points.back().y - matmul.area.y) < 1e-6;
      });
  EXPECT_TRUE(reached);
}

TEST(GraphSvg, HoldsEveryVisibleNode) {
  const auto g = model();
  GraphLayout layout(g);
  const std::string svg = graph_svg(*g, *layout.scene(layout.all_groups()));
  for (const char* word : {"<svg", "MatMul", "Relu", "Sigmoid", "Add", "</svg>"})
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  EXPECT_NE(svg.find(">1×2<"), std::string::npos) << "shapes at the edges";
  const std::string red =
      graph_svg(*g, *layout.scene(layout.all_groups()), [](int) { return 0xff0000u; });
  EXPECT_NE(red.find("#ff0000"), std::string::npos);
  EXPECT_EQ(svg.find("#ff0000"), std::string::npos);
}

TEST(PassHistory, RecordsTheChangesOfEachPass) {
  const auto graph = ir::parse_text(kText);
  const Compilation c = compile_with_history(*graph);
  EXPECT_EQ(c.error, "");
  ASSERT_TRUE(c.program);
  ASSERT_GT(c.steps.size(), 5u);
  EXPECT_EQ(c.steps[0].name, "model");
  size_t changes = 0;
  for (const PassStep& s : c.steps) {
    ASSERT_TRUE(s.graph);
    changes += s.added + s.removed + s.changed;
  }
  EXPECT_GT(changes, 0u);
}

TEST(PassHistory, ReportsWhyCompilingStopped) {
  const auto graph = ir::parse_text(
      R"(graph "g" opset {"": 17} { input %x : f32[N] %y : f32[N] = Relu(%x) output %y })");
  const Compilation c = compile_with_history(*graph);
  EXPECT_FALSE(c.program);
  EXPECT_NE(c.error.find("x"), std::string::npos) << c.error;
  EXPECT_FALSE(c.steps.empty());
}

TEST(PassHistory, OpenDimensionsAreOneForLooking) {
  const auto graph = ir::parse_text(
      R"(graph "g" opset {"": 17} { input %x : f32[N,3] %y : f32[N,3] = Relu(%x) output %y })");
  std::string assumed;
  const Compilation c = compile_with_history(*graph, options_for_inspection(*graph, assumed));
  EXPECT_EQ(assumed, "x=1×3");
  EXPECT_TRUE(c.program) << c.error;
}

TEST(PassHistory, ChangesAreAddedRemovedAndChanged) {
  const auto a = model();
  const auto b = model(R"(graph "net" opset {"": 17} {
    input %x : f32[1,4]
    const %w : f32[4,2] = fill 2.0
    %a : f32[1,2] = MatMul(%x, %w) "/block/fc/MatMul"
    %b : f32[1,2] = LeakyRelu(%a) "/block/fc/Relu"
    %d : f32[1,2] = Add(%b, %b) "/Add"
    output %d
  })");
  const GraphChanges changes = changes_between(*a, *b);
  EXPECT_EQ(changes.removed, std::vector<int>{a->find("/block/Sigmoid")});
  EXPECT_EQ(changes.after[static_cast<size_t>(b->find("/block/fc/Relu"))], Change::changed);
  EXPECT_EQ(changes.after[static_cast<size_t>(b->find("/block/fc/MatMul"))], Change::none);
  EXPECT_EQ(changes.changed, 2u);
}

TEST(Diff, FindsNodesAndWeights) {
  Document left, right;
  left.graph = model();
  right.graph = model(R"(graph "net" opset {"": 17} {
    input %x : f32[1,4]
    const %w : f32[4,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.5]
    %a : f32[1,2] = MatMul(%x, %w) "/block/fc/MatMul"
    %d : f32[1,2] = Relu(%a) "/block/fc/Relu"
    output %d
  })");
  Progress progress;
  const DocumentDiff diff = diff_documents(left, right, progress);
  const auto has = [&](const char* category, const char* name, Change change) {
    return std::any_of(diff.rows.begin(), diff.rows.end(), [&](const DiffRow& r) {
      return r.category == category && r.name == name && r.change == change;
    });
  };
  EXPECT_TRUE(has("weight", "w", Change::changed));
  EXPECT_TRUE(has("node", "/block/Sigmoid", Change::removed));
  const auto weight = std::find_if(diff.rows.begin(), diff.rows.end(),
                                   [](const DiffRow& r) { return r.category == "weight"; });
  EXPECT_NE(weight->right.find("1 of 8 elements differ, by at most 1.5"), std::string::npos)
      << weight->right;
}

// Exporters give computations of weights names without scopes, such as "Identity_7".
TEST(GraphModel, WeightComputationsAreInTheGroupOfTheirReaders) {
  const auto graph = ir::parse_text(R"(graph "net" opset {"": 17} {
  input %x : f32[2]
  const %w : f32[2] = [1.0, 2.0]
  %v : f32[2] = Identity(%w) "Identity_0"
  %s : f32[2] = Identity(%w) "Identity_1"
  %a : f32[2] = Add(%x, %v) "/layer.0/Add"
  %b : f32[2] = Mul(%a, %s) "/layer.0/Mul"
  %c : f32[2] = Mul(%b, %s) "/layer.1/Mul"
  %d : f32[2] = Relu(%c) "/layer.1/Relu"
  output %d
}
)");
  const GraphModel model(*graph);
  const auto group = [&](const char* node) {
    return model.group(model.node(model.find(node)).group).path;
  };
  EXPECT_EQ(group("Identity_0"), "layer.0");
  EXPECT_EQ(group("Identity_1"), "");  // read in two groups
  EXPECT_EQ(model.groups()[kRoot].all_nodes, model.nodes().size());
}

// Exporters list the computations of weights before all other nodes.
TEST(GraphLayout, WeightComputationsDoNotReverseLayers) {
  const auto graph = std::make_shared<GraphModel>(*ir::parse_text(R"(graph "net" opset {"": 17} {
  input %x : f32[2]
  const %w : f32[2] = [1.0, 2.0]
  %v : f32[2] = Identity(%w) "/layer.1/scale"
  %a : f32[2] = Relu(%x) "/layer.0/Relu"
  %b : f32[2] = Tanh(%a) "/layer.0/Tanh"
  %c : f32[2] = Mul(%b, %v) "/layer.1/Mul"
  %d : f32[2] = Relu(%c) "/layer.1/Relu"
  output %d
}
)"));
  GraphLayout layout(graph);
  for (const bool open : {false, true}) {
    const auto scene = layout.scene(open ? layout.all_groups() : std::set<int>{});
    const auto y = [&](const char* node) { return scene->find(*graph, graph->find(node))->area.y; };
    EXPECT_LT(y("x"), y("/layer.0/Relu"));
    EXPECT_LT(y("/layer.0/Relu"), y("/layer.1/Mul"));
    for (const SceneRoute& r : scene->routes) {
      ASSERT_FALSE(r.points.empty());
      EXPECT_LE(r.points.front().y, r.points.back().y) << "edges lead downwards";
    }
  }
}

TEST(GraphLayout, MarksRoutesThatEnterAGroup) {
  const auto graph = model();
  GraphLayout layout(graph);
  const auto scene = layout.scene(layout.all_groups());
  const SceneBox& block = scene->boxes[scene->box_of_group.at(1)];
  size_t entering = 0;
  for (const SceneRoute& r : scene->routes)
    if (r.enters && std::abs(r.points.front().y - block.area.y) < 0.01) entering++;
  EXPECT_EQ(entering, 1u);  // x
}

TEST(GraphModel, DocumentsOperatorsByOpset) {
  const auto graph = ir::parse_text(R"(graph "net" opset {"": 13} {
  input %x : f32[2]
  %y : f32[2] = Relu(%x) "r"
  output %y
}
)");
  const GraphModel model(*graph);
  const auto doc = model.documentation(model.find("r"));
  ASSERT_TRUE(doc);
  EXPECT_EQ(doc->since, 13);
  EXPECT_FALSE(model.documentation(model.find("x")));
}

}  // namespace
}  // namespace poprt::inspector
