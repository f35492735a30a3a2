#include "views/graph_view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

TEST_F(WorkspaceTest, DrawsNodesAndOpensGroups) {
  open_sample();
  EXPECT_TRUE(sees("node /block/fc/MatMul"));  // small graphs begin open
  press('E', false, true);
  EXPECT_FALSE(sees("node /block/fc/MatMul"));
  EXPECT_TRUE(sees("group block"));
  click("group block");
  EXPECT_TRUE(sees("node /block/Sigmoid"));
  press('E');
  EXPECT_TRUE(sees("node /block/fc/Relu"));
}

// Texts of nodes below the map are not readable through it.
TEST_F(WorkspaceTest, TheMinimapIsOpaqueAndNarrow) {
  ImGui::GetIO().DisplaySize = {640, 400};
  open_sample();
  const ui::Mark* const map = ui::find_mark("minimap");
  ASSERT_TRUE(map);
  EXPECT_LE(map->most.x - map->least.x, 0.15f * 640);
  bool opaque = false;
  const ImDrawData& drawn = *ImGui::GetDrawData();
  for (int l = 0; l < drawn.CmdListsCount; l++)
    for (const ImDrawVert& v : drawn.CmdLists[l]->VtxBuffer)
      opaque |= v.col == ui::colours().panel && v.pos.x < map->least.x &&
                v.pos.x > map->least.x - 8 && v.pos.y > map->least.y && v.pos.y < map->most.y + 8;
  EXPECT_TRUE(opaque);
}

TEST_F(WorkspaceTest, TypesHaveDifferentColours) {
  workspace->open(folder.write("types.ir", R"(graph "t" opset {"": 17} {
  input %x : f32[2]
  %a : f16[2] = Cast(%x) {to = 10} "a"
  %b : s64[2] = Cast(%x) {to = 7} "b"
  %c : f32[2] = Relu(%x) "c"
  output %a
  output %b
  output %c
}
)"));
  settle();
  workspace->graph()->set_colour(GraphColour::dtype);
  std::set<ImU32> colours;
  for (const char* node : {"a", "b", "c"})
    colours.insert(workspace->graph()->colour_of_node(workspace->document()->graph->find(node)));
  EXPECT_EQ(colours.size(), 3u);
  EXPECT_FALSE(colours.contains(ui::colours().dim));
}

TEST_F(WorkspaceTest, SearchesWhileTyping) {
  open_sample();
  press('F', true);
  type("op:sig");
  EXPECT_EQ(workspace->graph()->matches().size(), 1u);
  EXPECT_TRUE(sees("1 found"));
  EXPECT_TRUE(sees("Found 1")) << "listed at the right";
  EXPECT_EQ(workspace->graph()->selected(), kNone) << "typing selects nothing";
  press(ui::kEnter);
  EXPECT_EQ(workspace->graph()->selected(), workspace->document()->graph->find("/block/Sigmoid"));
}

TEST_F(WorkspaceTest, TypingASearchEndsNoPathAndEnterDoes) {
  open_sample();
  click("node /block/fc/MatMul");
  press('P');
  press('/');
  for (const char* letter : {"o", "p", ":", "A", "d", "d"}) type(letter);
  EXPECT_TRUE(workspace->graph()->path().empty());
  press(ui::kEnter);
  EXPECT_EQ(workspace->graph()->path().size(), 3u);
}

TEST_F(WorkspaceTest, ASearchBelongsToItsDocument) {
  open_sample();
  press('/');
  type("op:relu");
  EXPECT_TRUE(sees("1 found"));
  std::string other = kSampleText;
  other.replace(other.find("Sigmoid(%b)"), 11, "Relu(%b)");
  workspace->open(folder.write("other.ir", other));
  settle();
  EXPECT_FALSE(sees(" found"));
  press('W', true);
  EXPECT_TRUE(sees("1 found"));
  // New text replaces the earlier text, and a click clears it.
  press('/');
  type("op:add");
  EXPECT_EQ(workspace->graph()->search_text(), "op:add");
  press(ui::kEnter);
  click("clear search");
  EXPECT_TRUE(workspace->graph()->matches().empty());
}

TEST_F(WorkspaceTest, FindsAPathBetweenTwoNodes) {
  open_sample();
  click("node /block/fc/MatMul");
  press('P');
  click("node /Add");
  EXPECT_EQ(workspace->graph()->path().size(), 3u);
}

TEST_F(WorkspaceTest, ScrollingZooms) {
  open_sample();
  click("node /block/fc/Relu");
  ImVec2 least, most, later_least, later_most;
  const int relu = workspace->document()->graph->find("/block/fc/Relu");
  ASSERT_TRUE(workspace->graph()->screen_rect(relu, least, most));
  ImGui::GetIO().MouseWheel = 1;
  frame();
  frame();
  ASSERT_TRUE(workspace->graph()->screen_rect(relu, later_least, later_most));
  EXPECT_GT(later_most.x - later_least.x, most.x - least.x);
}

// A chain of layers without scopes, as long as those of transformers.
std::string deep_text(int layers) {
  std::string text = "graph \"deep\" opset {\"\": 17} {\ninput %x : f32[4]\n";
  std::string last = "x";
  for (int i = 0; i < layers; i++) {
    const std::string n = std::to_string(i);
    text += "%a" + n + " : f32[4] = Sigmoid(%" + last + ") \"n_a" + n + "\"\n%b" + n +
            " : f32[4] = Mul(%a" + n + ", %" + last + ") \"n_b" + n + "\"\n%c" + n +
            " : f32[4] = Sqrt(%b" + n + ") \"n_c" + n + "\"\n";
    last = "c" + n;
  }
  return text + "%y : f32[4] = Neg(%" + last + ")\noutput %y\n}\n";
}

class DeepGraph : public WorkspaceTest {
 protected:
  void SetUp() override {
    WorkspaceTest::SetUp();
    ui::load_fonts(1);
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
    workspace->open(folder.write("deep.ir", deep_text(30)));
    settle();
  }
  float least_text() {
    float least = 100;
    for (const ui::Mark& m : ui::marks())
      if (m.list) least = std::min(least, m.most.y - m.least.y);
    return least;
  }
};

TEST_F(DeepGraph, OpensAtTheInputsWithReadableText) {
  EXPECT_TRUE(sees("layer \u00d7 30")) << "repeated layers are one box";
  EXPECT_GE(workspace->graph()->zoom(), 0.9);
  click("group layer \u00d7 30");
  for (const char* theme : {"dark", "light"}) {
    for (const bool right : {false, true}) {
      workspace->graph()->open_all(true);
      settle();
      press('H');
      settle();
      EXPECT_GE(workspace->graph()->zoom(), 0.9) << theme << right;
      ImVec2 least, most;
      EXPECT_TRUE(workspace->graph()->screen_rect(0, least, most)) << "the input is visible";
      EXPECT_GE(least_text(), 9) << theme << right;
    }
    press('T', true);
  }
}

TEST_F(DeepGraph, AClickOpensTheLayersAndThenOneOfThem) {
  click("group layer \u00d7 30");
  EXPECT_TRUE(sees("group layer \u00d7 30/2 of 30"));
  EXPECT_FALSE(sees("node n_a1"));
  click("group layer \u00d7 30/2 of 30");
  EXPECT_TRUE(sees("node n_a1"));
  EXPECT_FALSE(sees("node n_a2"));
}

TEST_F(DeepGraph, KeepsTheDirection) {
  EXPECT_EQ(workspace->graph()->direction(), Direction::down);
  const auto actions = click("Right");
  EXPECT_TRUE(actions.settings_changed);
  EXPECT_TRUE(workspace->settings().horizontal);
  EXPECT_EQ(workspace->graph()->direction(), Direction::right);
  ImVec2 a, b, p, q;
  ASSERT_TRUE(workspace->graph()->screen_rect(0, a, b));
  ASSERT_TRUE(workspace->graph()->screen_rect(1, p, q));
  EXPECT_GT(p.x, b.x) << "the reader is to the right of the input";
  click("Down");
  EXPECT_EQ(workspace->graph()->direction(), Direction::down);
}

TEST_F(DeepGraph, TextsKeepTheirSizeAndSmallGroupsBecomeBoxes) {
  workspace->graph()->open_all(true);
  settle();
  for (int notch = 0; notch < 24; notch++) {
    press('-');
    if (workspace->graph()->zoom() > 0.33) EXPECT_GE(least_text(), 9) << notch;
  }
  EXPECT_LT(workspace->graph()->zoom(), 0.05);
  EXPECT_FALSE(sees("node n_a1")) << "the contents of a small group are not drawn";
  press('1');
  workspace->graph()->show(workspace->document()->graph->find("n_a1"));
  settle();
  EXPECT_TRUE(sees("node n_a1"));
}

// Nodes that are to be shown are indices, which belong to one graph.
TEST_F(WorkspaceTest, AReloadFindsTheSelectedNodeByItsName) {
  const auto chain = [](int first, int last) {
    std::string text = "graph \"g\" opset {\"\": 17} {\n input %x : f32[2]\n";
    for (int i = first; i <= last; i++)
      text += fmt::format(" %v{0} : f32[2] = Relu({1}) \"n{0}\"\n", i,
                          i == first ? "%x" : fmt::format("%v{}", i - 1));
    return text + fmt::format(" output %v{}\n}}\n", last);
  };
  workspace->open(folder.write("g.ir", chain(0, 60)));
  settle();
  GraphView& graph = *workspace->graph();
  for (const auto& [first, last] : {std::pair(40, 60), std::pair(0, 3)}) {
    graph.select(graph.graph()->find("n60"));
    folder.write("g.ir", chain(first, last));
    ASSERT_TRUE(workspace->reload_changed());
    settle();
    EXPECT_EQ(graph.selected(), workspace->document()->graph->find("n60"));
  }
  EXPECT_EQ(graph.selected(), kNone);
}

TEST_F(WorkspaceTest, AFileThatBecomesACompiledModelHasNoGraph) {
  open_sample();
  click("node /block/fc/MatMul");
  folder.write("net.ir", sample_popef());
  ASSERT_TRUE(workspace->reload_changed());
  settle();
  workspace->show(View::graph);
  settle();
  EXPECT_FALSE(workspace->graph()->graph());
  EXPECT_EQ(workspace->graph()->selected(), kNone);
  EXPECT_TRUE(sees("A compiled model contains a program and no graph"));
  EXPECT_TRUE(workspace->error().starts_with("A compiled model contains a program and no graph"));
  for (const char* command : {"copy what this view", "open all groups", "close all groups"}) {
    press('K', true);
    type(command);
    press(ui::kEnter);
  }
  EXPECT_FALSE(workspace->busy());
}

}  // namespace
}  // namespace poprt::inspector
