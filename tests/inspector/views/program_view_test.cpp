#include "views/program_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

TEST_F(WorkspaceTest, CompilesForProgramAndPasses) {
  open_sample();
  press('3', true);
  EXPECT_EQ(workspace->view(), View::program);
  EXPECT_TRUE(sees("arena"));
  EXPECT_TRUE(sees("main"));
  press('4', true);
  EXPECT_TRUE(sees("the original model"));
  press(ui::kRight);
  EXPECT_FALSE(sees("the original model"));
}

TEST_F(WorkspaceTest, ProfilesAProgram) {
  open_popef();
  press('3', true);
  click("Profile");
  EXPECT_NE(workspace->message().find(" each"), std::string::npos) << workspace->message();
  EXPECT_TRUE(sees("Share"));
}

TEST_F(WorkspaceTest, TimesOfACompiledModelColourTheGraphItCameFrom) {
  open_sample();
  EXPECT_STREQ(workspace->graph()->colour_name(), "operator");
  open_popef();
  press('3', true);
  click("Profile");
  press(ui::kTab, true);
  workspace->show(View::graph);
  settle();
  EXPECT_STREQ(workspace->graph()->colour_name(), "time");
  EXPECT_TRUE(sees("Slowest, as profiled"));
  press('C');
  EXPECT_STREQ(workspace->graph()->colour_name(), "operator");
  for (int i = 0; i < 4; i++) press('C');
  EXPECT_STREQ(workspace->graph()->colour_name(), "time");
}

TEST_F(WorkspaceTest, ANodeOfACompiledModelIsShownInTheGraphItCameFrom) {
  open_popef();
  press('3', true);
  press(ui::kDown);
  EXPECT_TRUE(sees("no graph that is open has this node"));
  click("Show in graph");
  EXPECT_EQ(workspace->view(), View::program) << "it cannot be shown";
  open_sample();
  press(ui::kTab, true);
  workspace->show(View::program);
  settle();
  EXPECT_FALSE(sees("no graph that is open has this node"));
  click("Show in graph");
  EXPECT_EQ(workspace->view(), View::graph);
  EXPECT_EQ(workspace->document()->title(), "net.ir");
  EXPECT_NE(workspace->graph()->selected(), kNone);
}

TEST_F(WorkspaceTest, ANodeOfABodyIsSelectedAndShownInTheGraph) {
  workspace->open(folder.write("flow.ir", kControlFlowText));
  workspace->show(View::program);
  settle();
  for (const char* name : {"product", "cosine", "x", "z"})
    EXPECT_TRUE(workspace->select(name)) << name;
  EXPECT_FALSE(workspace->select("nonsense"));
  ASSERT_TRUE(workspace->select("product"));
  settle();
  EXPECT_FALSE(sees("No node of the graph has this name"));
  click("Show in graph");
  EXPECT_EQ(workspace->view(), View::graph);
  EXPECT_EQ(workspace->graph()->selected(), workspace->document()->graph->find("product"));
}

TEST_F(WorkspaceTest, InstructionsAreSortedByAClickOnAColumn) {
  open_popef();
  press('3', true);
  EXPECT_TRUE(sees("peak"));
  click("Profile");
  click("Time");
  const auto first = [&] {
    const ui::Mark* least = nullptr;
    for (const ui::Mark& m : ui::marks())
      if (m.name.ends_with(" %") && (!least || m.least.y < least->least.y)) least = &m;
    return least ? std::stod(least->name) : -1;
  };
  const double most = first();
  click("Time");
  EXPECT_GE(most, first());
}

TEST_F(WorkspaceTest, NumbersInTablesAreNeverCut) {
  ImGui::GetIO().DisplaySize = {900, 600};
  open_popef();
  press('3', true);
  click("Profile");
  frame();
  const ui::Mark *node = ui::find_mark("Node"), *weights = ui::find_mark("Weights");
  ASSERT_TRUE(node && weights);
  EXPECT_GT(weights->least.x - node->least.x, 60) << "names have the room that numbers leave";
  const ui::Mark* side = ui::find_mark("splitter instruction");
  ASSERT_TRUE(side);
  for (const ui::Mark& m : ui::marks()) {
    if (!m.name.ends_with(" %")) continue;
    EXPECT_LE(m.most.x, side->least.x) << m.name;
  }
}

TEST_F(WorkspaceTest, VariantsOfAFusedModelAreShownOneByOne) {
  workspace->open(write_fused(folder));
  settle();
  click("anchors of");
  click("graph1 other");
  EXPECT_TRUE(sees("graph1/x"));
  EXPECT_FALSE(sees("graph0/x"));
  workspace->show(View::program);
  settle();
  EXPECT_TRUE(sees("Variants, of which one runs"));
  EXPECT_TRUE(sees("/Add"));
  click("show graph1 other");
  EXPECT_TRUE(sees("Arena of graph1 other"));
  EXPECT_FALSE(sees("/block/Sigmoid"));
  click("Profile");
  EXPECT_TRUE(sees("for one of every variant")) << workspace->message();
  click("part");
  click("all variants");
  EXPECT_TRUE(sees("Arena over time"));
  workspace->show(View::run);
  settle();
  click("variant to run");
  click("graph1 other");
  EXPECT_TRUE(sees("graph1/x"));
  press('R');
  ASSERT_TRUE(workspace->run_view()->result());
  EXPECT_EQ(workspace->run_view()->result()->outputs[0].tensor.shape(), (Shape{3, 2}));
}

TEST_F(WorkspaceTest, IpusHaveAMapEach) {
  workspace->open(write_sharded(folder, true));
  settle();
  workspace->show(View::program);
  settle();
  EXPECT_TRUE(sees("Several IPUs"));
  click("show IPU 1, stage 1");
  EXPECT_TRUE(sees("Arena of IPU 1, stage 1"));
  EXPECT_TRUE(sees("peak"));
  click("Profile");
  press(ui::kDown);
  press(ui::kDown);
  EXPECT_TRUE(sees("% of all"));
}

TEST_F(WorkspaceTest, EachOfSeveralExecutablesIsShown) {
  workspace->open(folder.write("two.popef", sample_popef("first") + sample_popef("second")));
  settle();
  click("anchors of");
  click("second");
  EXPECT_EQ(std::count_if(ui::marks().begin(), ui::marks().end(),
                          [](const ui::Mark& m) { return m.name == "table"; }),
            1);
  workspace->show(View::program);
  settle();
  click("program");
  click("second");
  click("Profile");
  workspace->show(View::run);
  settle();
  press('R');
  EXPECT_TRUE(workspace->run_view()->result()) << workspace->run_view()->error();
}

}  // namespace
}  // namespace poprt::inspector
