// The positions of boxes in a scene: next to their readers, in the middle of their group; the depth
// of open groups; and the results of a search.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "model/graph_layout.h"
#include "model/graph_query.h"

namespace poprt::inspector {
namespace {

std::shared_ptr<const GraphModel> scene_model(const std::string& body) {
  return std::make_shared<GraphModel>(
      *ir::parse_text("graph \"g\" opset {\"\": 17} {\n" + body + "\n}\n"));
}

TEST(Scenes, RectanglesHoldTheirBordersAndMeetAtThem) {
  const Rect r{10, 20, 30, 40};
  for (const Point p : {Point{10, 20}, {40, 60}, {25, 30}}) EXPECT_TRUE(r.contains(p)) << p.x;
  for (const Point p : {Point{9, 30}, {41, 30}, {25, 19}, {25, 61}}) EXPECT_FALSE(r.contains(p));
  EXPECT_TRUE(r.meets({40, 60, 1, 1}));
  EXPECT_TRUE(r.meets({0, 0, 10, 20}));
  for (const Rect& apart :
       {Rect{41, 30, 1, 1}, Rect{0, 30, 9, 1}, Rect{20, 61, 1, 1}, Rect{20, 0, 1, 19}})
    EXPECT_FALSE(r.meets(apart)) << apart.x << " " << apart.y;
}

// The width is 7.6 pixels for each character plus a margin, between a smallest and a largest width.
TEST(Scenes, BoxesAreAsWideAsTheirWords) {
  GraphNode node;
  node.op = std::string(20, 'o');
  EXPECT_NEAR(node_size(node).width, 20 * 7.6 + 22, 1e-9);
  EXPECT_EQ(node_size(node).height, 30);
  node.op.clear();
  for (int i = 0; i < 20; i++) node.op += "é";
  EXPECT_NEAR(node_size(node).width, 20 * 7.6 + 22, 1e-9);
  node.detail = std::string(25, 'd');
  EXPECT_NEAR(node_size(node).width, 25 * 7.6 + 22, 1e-9);
  EXPECT_EQ(node_size(node).height, 48);
  node.detail = std::string(100, 'd');
  EXPECT_EQ(node_size(node).width, 320);
  node.op = "o";
  node.detail.clear();
  EXPECT_EQ(node_size(node).width, 64);
  GraphGroup group;
  group.name = std::string(20, 'g');
  EXPECT_NEAR(group_size(group).width, 20 * 7.6 + 44, 1e-9);
  group.name = "g";
  EXPECT_EQ(group_size(group).width, 130);
  group.name = std::string(100, 'g');
  EXPECT_EQ(group_size(group).width, 320);
}

TEST(Scenes, WeightScalingIsNextToItsReader) {
  const auto g = scene_model(R"(input %x : f32[2]
    const %w : f32[2] = [1.0, 2.0]
    %a : f32[2] = Relu(%x) "a"
    %b : f32[2] = Tanh(%a) "b"
    %k : f32[2] = Identity(%w) "k"
    %l : f32[2] = Neg(%k) "l"
    %c : f32[2] = Mul(%b, %l) "c"
    output %c)");
  GraphLayout layout(g);
  const auto scene = layout.scene({});
  const auto y = [&](const char* name) {  // of the middle
    const auto& area = scene->find(*g, g->find(name))->area;
    return area.y + area.height / 2;
  };
  EXPECT_NEAR(y("l"), y("b"), 1e-6);
  EXPECT_NEAR(y("k"), y("a"), 1e-6);
  EXPECT_FALSE(scene->find(*g, kNone));
}

TEST(Scenes, NodesOfAGroupAreCentred) {
  const std::string name = "a name that is as wide as ten boxes";
  const auto g = scene_model("input %x : f32[2]\n%a : f32[2] = Relu(%x) \"" + name +
                             "/a\"\n%b : f32[2] = Abs(%a) \"" + name +
                             "/b\"\n%c : f32[2] = Neg(%b) \"c\"\noutput %c");
  GraphLayout layout(g);
  const auto scene = layout.scene(layout.all_groups());
  const Rect& group = scene->boxes.at(scene->box_of_group.at(1)).area;
  ASSERT_GT(group.width, 250);
  for (const char* node : {"/a", "/b"}) {
    const Rect& box = scene->find(*g, g->find(name + node))->area;
    EXPECT_NEAR(box.x + box.width / 2, group.x + group.width / 2, 1) << node;
  }
}

TEST(Scenes, GroupsAreOpenedWhileTheirBoxesAreFew) {
  const auto g = scene_model(R"(input %x : f32[2]
    %a : f32[2] = Relu(%x) "a/p"
    %b : f32[2] = Relu(%a) "a/q"
    %c : f32[2] = Relu(%b) "a/b/r"
    %d : f32[2] = Relu(%c) "a/b/s"
    %e : f32[2] = Relu(%d) "a/b/t"
    %f : f32[2] = Relu(%e) "w"
    output %f)");
  const GraphLayout layout(g);
  ASSERT_EQ(g->groups().size(), 3u);
  // The root has the input, a, w and the output; a has two nodes and b; b has three nodes.
  for (const auto& [most, open] : {std::pair<size_t, std::set<int>>{3, {}},
                                   {6, {}},
                                   {7, {1}},
                                   {9, {1}},
                                   {10, {1, 2}},
                                   {100, {1, 2}}})
    EXPECT_EQ(layout.groups_within(most), open) << most;
}

// Bodies of nodes are open if the graph is small.
TEST(Scenes, BodiesAreOpenedInGraphsOfUpTo120Nodes) {
  for (const int chain : {114, 115}) {
    std::string text = "input %v0 : f32[2]\ninput %on : bool[]\n";
    for (int i = 0; i < chain; i++) text += fmt::format("%v{} : f32[2] = Relu(%v{})\n", i + 1, i);
    text += fmt::format(
        "%y : f32[2] = If(%on) {{g = graph \"b\" {{ %n : f32[2] = Neg(%v{}) output %n }}}} "
        "\"if\"\noutput %y",
        chain);
    const auto g = scene_model(text);
    ASSERT_EQ(g->group(kRoot).all_nodes, static_cast<size_t>(chain) + 6);
    EXPECT_EQ(GraphLayout(g).groups_within(1000).size(), chain == 114 ? 1u : 0u) << chain;
  }
}

TEST(Scenes, SearchPrefixSelectsTheField) {
  const auto g = scene_model(R"(input %x : f32[2]
    %a : ? = Conv(%x) {pads = [1, 1]} "n1"
    %b : f32[2] = Relu(%a) "conv"
    output %b)");
  using Nodes = std::vector<int>;
  const int conv = g->find("n1"), relu = g->find("conv");
  EXPECT_EQ(search_nodes(*g, "conv"), (Nodes{conv, relu}));
  EXPECT_EQ(search_nodes(*g, "name:conv"), Nodes{relu});
  EXPECT_EQ(search_nodes(*g, "op:conv"), Nodes{conv});
  EXPECT_EQ(search_nodes(*g, "pads"), Nodes{conv}) << "an attribute's name";
  EXPECT_EQ(search_nodes(*g, "[1, 1]"), Nodes{conv}) << "or its value";
  EXPECT_EQ(search_nodes(*g, "op:input"), Nodes{0}) << "the first node";
  EXPECT_EQ(search_nodes(*g, "out:*"), (Nodes{0, relu})) << "of the other the shape is not known";
  EXPECT_EQ(search_nodes(*g, "out:2"), (Nodes{0, relu}));
}

}  // namespace
}  // namespace poprt::inspector
