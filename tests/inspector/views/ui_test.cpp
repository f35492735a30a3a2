#include "views/ui.h"

#include <gtest/gtest.h>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

TEST_F(WorkspaceTest, LongTextsFitTheirRoomAndPathsKeepTheirEnds) {
  ImGui::NewFrame();
  const auto width = [](const std::string& line) { return ImGui::CalcTextSize(line.c_str()).x; };
  const std::string path = "/encoder/layer.0/attention/output/dense/MatMul",
                    words = "one two three";
  EXPECT_EQ(ui::fitted(path, width(path)), path);
  const std::string end = ui::fitted(path, width(path) - 1);
  EXPECT_LE(width(end), width(path) - 1);
  EXPECT_TRUE(end.starts_with("\xE2\x80\xA6") && end.ends_with("/dense/MatMul")) << end;
  const std::string begin = ui::fitted(words, width(words) - 1);
  EXPECT_TRUE(begin.starts_with("one two") && begin.ends_with("\xE2\x80\xA6")) << begin;
  for (float room = 0; room < 60; room += 1) {
    const std::string cut = ui::fitted("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", room);
    EXPECT_EQ(cut.size() % 2, cut.ends_with("\xA6") ? 1u : 0u) << "no half of a letter: " << cut;
  }
  EXPECT_EQ(ui::fitted(path, 0), "\xE2\x80\xA6");
  ImGui::EndFrame();
}

TEST_F(WorkspaceTest, EveryFontHasTheCharactersThatWereSeen) {
  ImGui::NewFrame();
  ui::take_fonts_wanted();
  ui::mark("\xD0\xB2\xD1\x85\xD0\xBE\xD0\xB4", {0, 0}, {1, 1});
  EXPECT_TRUE(ui::take_fonts_wanted());
  ImGui::EndFrame();
  ui::load_fonts(1);
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  if (ImGui::GetIO().Fonts->Fonts.Size < 3) GTEST_SKIP() << "DejaVu is not installed";
  for (const ImFont* font : ImGui::GetIO().Fonts->Fonts)
    EXPECT_TRUE(font->FindGlyphNoFallback(0x432)) << font->FontSize;
}

TEST_F(WorkspaceTest, NamesWithMarksOfImGuiAreWhole) {
  std::string text = kSampleText;
  for (size_t at = text.find("%x"); at != std::string::npos; at = text.find("%x", at + 6))
    text.replace(at, 2, "%\"a##b\"");
  workspace->open(folder.write("marks.ir", text));
  settle();
  ASSERT_TRUE(workspace->document()->graph) << workspace->document()->error;
  EXPECT_EQ(workspace->document()->graph->node(0).name, "a##b");
  click("a");  // ImGui cuts identifiers at ##, but not texts
  EXPECT_EQ(workspace->graph()->selected(), 0);
}

// With the pointer on any text, the tooltip is next to the item and inside of the screen.
TEST_F(WorkspaceTest, TooltipsDoNotCoverTheItem) {
  open_sample();
  open_popef();
  ImGui::GetIO().DisplaySize = {1024, 600};
  size_t seen = 0;
  for (const View view : {View::popef, View::graph, View::program}) {
    workspace->show(view);
    settle();
    const std::vector<ui::Mark> marks = ui::marks();
    for (const ui::Mark& m : marks) {
      const ImVec2 middle = {(m.least.x + m.most.x) / 2, (m.least.y + m.most.y) / 2};
      if (m.most.y - m.least.y > 40) continue;
      ImGui::GetIO().MousePos = middle;
      frame();
      frame();
      const ui::Mark* tip = ui::find_mark("tooltip");
      if (!tip) continue;
      seen++;
      EXPECT_TRUE(tip->least.y > middle.y + 3 || tip->most.y < middle.y - 3) << m.name;
      EXPECT_TRUE(tip->least.y >= m.most.y - 1 || tip->most.y <= m.least.y + 1) << m.name;
      EXPECT_GE(tip->least.y, 0) << m.name;
      EXPECT_LE(tip->most.y, 600) << m.name;
      EXPECT_LE(tip->most.x, 1024) << m.name;
    }
  }
  EXPECT_GT(seen, 10u);
}

}  // namespace
}  // namespace poprt::inspector
