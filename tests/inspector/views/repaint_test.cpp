#include "views/repaint.h"

#include <gtest/gtest.h>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

TEST_F(WorkspaceTest, DrawsFramesUntilThePictureIsStable) {
  open_sample();
  Repaint repaint;
  const auto draw = [&] {
    int frames = 0;
    for (; repaint.should_draw() && frames < 100; frames++) {
      workspace->settle();
      frame();
      repaint.drawn(*ImGui::GetDrawData());
    }
    return frames;
  };
  EXPECT_GE(draw(), 3);
  EXPECT_FALSE(repaint.should_draw()) << "an idle window draws nothing";
  const ui::Mark* m = ui::find_mark("node /block/fc/MatMul");
  ASSERT_TRUE(m);
  ImGuiIO& io = ImGui::GetIO();
  io.MousePos = {(m->least.x + m->most.x) / 2, (m->least.y + m->most.y) / 2};
  for (const bool down : {true, false}) {
    io.MouseDown[0] = down;
    repaint.wake();
    const int frames = draw();
    EXPECT_GE(frames, 3);
    EXPECT_LT(frames, 30);
  }
  EXPECT_TRUE(sees("histogram"));
  // The following frames are equal, so none of them is drawn.
  for (int i = 0; i < 20; i++) {
    frame();
    EXPECT_FALSE(repaint.drawn(*ImGui::GetDrawData())) << i;
  }
  repaint.invalidate();
  EXPECT_TRUE(repaint.should_draw());
  frame();
  EXPECT_TRUE(repaint.drawn(*ImGui::GetDrawData())) << "what the window lost is shown again";
}

}  // namespace
}  // namespace poprt::inspector
