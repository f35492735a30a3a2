#include "views/input_queue.h"

#include <gtest/gtest.h>

#include <cctype>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

// Keys arrive as events of a window system, and frames are drawn at any time between them.
TEST_F(WorkspaceTest, NoKeyIsLostBetweenTwoFrames) {
  open_sample();
  InputQueue keys;
  const auto frames = [&] {
    while (!keys.empty()) {
      keys.feed();
      frame();
    }
  };
  const auto tap = [&](int key) {
    keys.key(key, true);
    keys.key(key, false);
  };
  keys.key(ui::kLeftControl, true);
  tap('T');
  keys.key(ui::kLeftControl, false);
  tap('E');
  frames();
  EXPECT_TRUE(workspace->settings().light);
  EXPECT_FALSE(ImGui::GetIO().KeyCtrl);
  workspace->graph()->search("dtype:f32");
  const auto& matches = workspace->graph()->matches();
  ASSERT_EQ(matches.size(), 6u);
  for (int i = 0; i < 20; i++) tap('N');
  frames();
  EXPECT_EQ(workspace->graph()->selected(), matches[19 % 6]) << "each press goes on by one";
  keys.key(ui::kLeftControl, true);
  tap('K');
  keys.key(ui::kLeftControl, false);
  frames();
  frame();  // the field takes the keyboard
  for (const char letter : std::string("SHOW QUEUES")) {
    keys.key(letter, true);
    keys.character(static_cast<unsigned>(std::tolower(letter)));
    keys.key(letter, false);
  }
  tap(ui::kEnter);
  frames();
  EXPECT_EQ(workspace->view(), View::queues);
}

TEST_F(WorkspaceTest, AKeyThatIsHeldActsOnce) {
  open_sample();
  workspace->graph()->search("dtype:f32");
  ImGui::GetIO().KeysDown['N'] = true;
  for (int i = 0; i < 120; i++) frame();  // two seconds
  ImGui::GetIO().KeysDown['N'] = false;
  EXPECT_EQ(workspace->graph()->selected(), workspace->graph()->matches()[0]);
}

}  // namespace
}  // namespace poprt::inspector
