#include "views/graph_view.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace poprt::inspector
