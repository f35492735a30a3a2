// Texts are drawn inside of the rectangle in which they are visible, and not over other texts.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

// Returns the faults of the texts drawn in the last frame. A text may be scrolled out of sight
// vertically, but never horizontally.
std::vector<std::string> text_faults() {
  std::vector<std::string> faults;
  const auto& marks = ui::marks();
  const auto seen = [](const ui::Mark& m) {
    return m.list && m.most.x > m.least.x && m.most.y > m.clip_least.y && m.least.y < m.clip_most.y;
  };
  for (size_t i = 0; i < marks.size(); i++) {
    const ui::Mark& a = marks[i];
    if (!seen(a)) continue;
    if (a.least.x < a.clip_least.x - 1 || a.most.x > a.clip_most.x + 1)
      faults.push_back(fmt::format("'{}' at {:.0f} to {:.0f} is visible only from {:.0f} to {:.0f}",
                                   a.name, a.least.x, a.most.x, a.clip_least.x, a.clip_most.x));
    for (size_t k = i + 1; k < marks.size(); k++) {
      const ui::Mark& b = marks[k];
      if (!seen(b) || b.list != a.list) continue;
      const float x = std::min(a.most.x, b.most.x) - std::max(a.least.x, b.least.x),
                  y = std::min(a.most.y, b.most.y) - std::max(a.least.y, b.least.y);
      if (x > 1 && y > 2) faults.push_back(fmt::format("'{}' overlaps '{}'", a.name, b.name));
    }
  }
  return faults;
}

class VisibleText : public WorkspaceTest {
 protected:
  void SetUp() override {
    WorkspaceTest::SetUp();
    ui::load_fonts(1);
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  }
  template <class F>
  void at_every_size(F&& check) {
    for (const ImVec2 size : {ImVec2{1024, 768}, ImVec2{2560, 1440}}) {
      ImGui::GetIO().DisplaySize = size;
      settle();
      check(fmt::format("{}x{}", size.x, size.y));
    }
  }
};

TEST_F(VisibleText, FindsTextsThatAreCutOrOverlap) {
  ImGui::NewFrame();
  ui::marks().clear();
  ImGui::SetNextWindowSize({200, 200});
  ImGui::Begin("w");
  ui::text("short");
  EXPECT_TRUE(text_faults().empty());
  ImGui::SetCursorPosX(180);
  ui::text("a text outside of the window");
  EXPECT_EQ(text_faults().size(), 1u);
  ImGui::SetCursorPos({50, 100});
  ui::text("one");
  ImGui::SetCursorPos({52, 101});
  ui::text("two");
  EXPECT_EQ(text_faults().size(), 2u);
  ImGui::End();
  ImGui::EndFrame();
}

TEST_F(VisibleText, TheHelpSheetIsReadableAtEverySize) {
  open_sample();
  press(ui::kF1);
  ASSERT_TRUE(workspace->help_open());
  at_every_size([&](const std::string& size) {
    EXPECT_EQ(text_faults(), std::vector<std::string>()) << size;
    for (const char* text : {"command palette", "time each instruction; the graph shows hot spots",
                             "Queues: Runs, at the left"})
      EXPECT_TRUE(sees(text)) << text;
  });
}

TEST_F(VisibleText, EveryViewIsReadableAtEverySize) {
  open_popef();
  open_sample();
  for (int v = 0; v < kViews; v++) {
    if (static_cast<View>(v) == View::chip) continue;
    workspace->show(static_cast<View>(v));
    at_every_size([&](const std::string& size) {
      EXPECT_EQ(text_faults(), std::vector<std::string>())
          << view_name(static_cast<View>(v)) << " " << size;
    });
  }
}

}  // namespace
}  // namespace poprt::inspector
