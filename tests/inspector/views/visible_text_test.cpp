// Texts are drawn inside of the rectangle in which they are visible, not over other texts, and in a
// colour with enough contrast to the pixels below them.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "inspector/colour_distance.h"
#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

// The colours of a scale differ from that of nodes without a value, also if all values are equal.
TEST_F(WorkspaceTest, NoPartOfTheScaleLooksLikeNoValue) {
  const auto rgb = [](ImU32 c) {
    return (c >> IM_COL32_R_SHIFT & 255) << 16 | (c >> IM_COL32_G_SHIFT & 255) << 8 |
           (c >> IM_COL32_B_SHIFT & 255);
  };
  for (const ui::Theme theme : {ui::Theme::dark, ui::Theme::light}) {
    ui::set_theme(theme, 1);
    const uint32_t none = rgb(ui::colours().dim);
    for (int i = 0; i <= 10; i++)
      EXPECT_GT(distance_for(Vision::normal, rgb(ui::heat(static_cast<float>(i) / 10)), none), 15)
          << i;
  }
  ui::set_theme(ui::Theme::dark, 1);
}

// Returns the faults of the texts drawn in the last frame. A text may be scrolled out of sight
// vertically, but horizontally only in a table that has a bar for it.
std::vector<std::string> text_faults() {
  std::vector<std::string> faults;
  const auto& marks = ui::marks();
  const auto seen = [](const ui::Mark& m) {
    return m.list && m.most.x > m.least.x && m.most.y > m.clip_least.y && m.least.y < m.clip_most.y;
  };
  for (size_t i = 0; i < marks.size(); i++) {
    const ui::Mark& a = marks[i];
    if (!seen(a)) continue;
    if (!a.scrolls && (a.least.x < a.clip_least.x - 1 || a.most.x > a.clip_most.x + 1))
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

uint32_t rgb_of(ImU32 c) {
  return (c >> IM_COL32_R_SHIFT & 255) << 16 | (c >> IM_COL32_G_SHIFT & 255) << 8 |
         (c >> IM_COL32_B_SHIFT & 255);
}

// Every second pixel of the last frame in both directions, without its texts and smoothed lines.
class Backdrop {
 public:
  Backdrop() {
    const ImDrawData& data = *ImGui::GetDrawData();
    width_ = static_cast<int>(data.DisplaySize.x / kStep);
    height_ = static_cast<int>(data.DisplaySize.y / kStep);
    pixels_.resize(static_cast<size_t>(width_) * static_cast<size_t>(height_));
    for (int n = 0; n < data.CmdListsCount; n++) {
      const ImDrawList& list = *data.CmdLists[n];
      for (const ImDrawCmd& command : list.CmdBuffer)
        for (unsigned i = 0; i + 2 < command.ElemCount; i += 3) {
          const ImDrawVert* v[3];
          for (unsigned k = 0; k < 3; k++)
            v[k] = &list.VtxBuffer[static_cast<int>(
                list.IdxBuffer[static_cast<int>(command.IdxOffset + i + k)] + command.VtxOffset)];
          draw(v, command.ClipRect);
        }
    }
  }

  // The most frequent colour in a rectangle.
  uint32_t most_frequent(ImVec2 least, ImVec2 most) const {
    std::map<uint32_t, int> counts;
    for (int y = std::max(0, static_cast<int>(least.y / kStep));
         y < std::min(height_, static_cast<int>(most.y / kStep)); y++)
      for (int x = std::max(0, static_cast<int>(least.x / kStep));
           x < std::min(width_, static_cast<int>(most.x / kStep)); x++)
        counts[at(x, y)]++;
    uint32_t best = 0;
    int times = -1;
    for (const auto& [colour, count] : counts)
      if (count > times) best = colour, times = count;
    return best;
  }

 private:
  static constexpr float kStep = 2;
  static float edge(const ImVec2& a, const ImVec2& b, float x, float y) {
    return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
  }
  uint32_t at(int x, int y) const {
    return pixels_[static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)];
  }

  void draw(const ImDrawVert* const v[3], const ImVec4& clip) {
    const ImVec2 white = ImGui::GetIO().Fonts->TexUvWhitePixel;
    for (int k = 0; k < 3; k++)
      if (v[k]->uv.x != white.x || v[k]->uv.y != white.y) return;
    const auto [x0, x1] = std::minmax({v[0]->pos.x, v[1]->pos.x, v[2]->pos.x});
    const auto [y0, y1] = std::minmax({v[0]->pos.y, v[1]->pos.y, v[2]->pos.y});
    const auto cell = [](float at) { return static_cast<int>(at / kStep); };
    for (int y = std::max({0, cell(y0), cell(clip.y)});
         y < std::min({height_, cell(y1) + 1, cell(clip.w)}); y++)
      for (int x = std::max({0, cell(x0), cell(clip.x)});
           x < std::min({width_, cell(x1) + 1, cell(clip.z)}); x++) {
        const float px = (static_cast<float>(x) + 0.5f) * kStep,
                    py = (static_cast<float>(y) + 0.5f) * kStep;
        const float a = edge(v[0]->pos, v[1]->pos, px, py), b = edge(v[1]->pos, v[2]->pos, px, py),
                    c = edge(v[2]->pos, v[0]->pos, px, py);
        if (!((a >= 0 && b >= 0 && c >= 0) || (a <= 0 && b <= 0 && c <= 0))) continue;
        uint32_t& p =
            pixels_[static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)];
        const float alpha = static_cast<float>(v[0]->col >> IM_COL32_A_SHIFT & 255) / 255;
        const uint32_t over = rgb_of(v[0]->col);
        uint32_t made = 0;
        for (const int shift : {16, 8, 0}) {
          const auto below = static_cast<float>(p >> shift & 255),
                     above = static_cast<float>(over >> shift & 255);
          made |= static_cast<uint32_t>(below + (above - below) * alpha + 0.5f) << shift;
        }
        p = made;
      }
  }

  int width_ = 0, height_ = 0;
  std::vector<uint32_t> pixels_;
};

// Returns the texts of the last frame, of windows whose name contains `window`, with less contrast
// than WCAG 2.1 level AA requires.
std::vector<std::string> contrast_faults(const std::string& window = "") {
  const Backdrop backdrop;
  std::vector<std::string> faults;
  for (const ui::Mark& m : ui::marks()) {
    if (!m.list || m.most.x <= m.least.x || m.most.y <= m.clip_least.y ||
        m.least.y >= m.clip_most.y ||
        (m.list->_OwnerName && std::string(m.list->_OwnerName).find(window) == std::string::npos))
      continue;
    const uint32_t back = backdrop.most_frequent(
        {std::max(m.least.x, m.clip_least.x), std::max(m.least.y, m.clip_least.y)},
        {std::min(m.most.x, m.clip_most.x), std::min(m.most.y, m.clip_most.y)});
    const double ratio = contrast_ratio(rgb_of(m.colour), back);
    if (ratio < 4.5)
      faults.push_back(fmt::format("'{}' has contrast {:.2f}: {:06x} on {:06x}", m.name, ratio,
                                   rgb_of(m.colour), back));
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
    for (const ImVec2 size : {ImVec2{640, 480}, ImVec2{1024, 768}, ImVec2{2560, 1440}}) {
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

TEST_F(VisibleText, FindsTextsWithoutContrast) {
  ImGui::NewFrame();
  ui::marks().clear();
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize({300, 200});
  ImGui::Begin("w");
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled({20, 40}, {280, 90}, IM_COL32(120, 120, 120, 255));
  ui::label(list, {30, 50}, IM_COL32(0, 0, 0, 255), "black");
  ui::label(list, {120, 50}, IM_COL32(200, 200, 200, 255), "light");
  ImGui::End();
  ImGui::Render();
  ASSERT_EQ(contrast_faults().size(), 1u);
  EXPECT_TRUE(contrast_faults()[0].starts_with("'label light' has contrast 2."))
      << contrast_faults()[0];
}

TEST_F(VisibleText, EveryTextHasContrastInBothThemes) {
  open_popef();
  open_sample();
  ImGui::GetIO().DisplaySize = {1024, 768};
  for (const bool light : {false, true}) {
    if (light) press('T', true);
    for (int v = 0; v < kViews; v++) {
      workspace->show(static_cast<View>(v));
      settle();
      EXPECT_EQ(contrast_faults(), std::vector<std::string>())
          << view_name(static_cast<View>(v)) << (light ? " light" : " dark");
    }
    press(ui::kF1);
    EXPECT_EQ(contrast_faults("Help"), std::vector<std::string>()) << "help";
    press(ui::kF1);
  }
  press('T', true);
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
    workspace->show(static_cast<View>(v));
    at_every_size([&](const std::string& size) {
      EXPECT_EQ(text_faults(), std::vector<std::string>())
          << view_name(static_cast<View>(v)) << " " << size;
    });
  }
}

// At a small size the line of buttons continues below.
TEST_F(VisibleText, ButtonsOfAGraphAreInsideOfTheWindow) {
  open_sample();
  workspace->show(View::graph);
  at_every_size([&](const std::string& size) {
    for (const char* name : {"Fit", "Right", "Open all", "Close all"}) {
      const ui::Mark* const button = ui::find_mark(name);
      ASSERT_NE(button, nullptr) << name << " " << size;
      EXPECT_LE(button->most.x, ImGui::GetIO().DisplaySize.x) << name << " " << size;
    }
  });
}

// As many elements are in a line as fit into it.
TEST_F(VisibleText, ElementsOfLongRowsAreNotCut) {
  for (const char* shape : {"1,1000", "40,100"}) {
    workspace->open(folder.write("long.ir", fmt::format(R"(graph "g" opset {{"": 17}} {{
  input %x : f32[{}]
  %y = Sin(%x)
  output %y
}})",
                                                        shape)));
    settle();
    workspace->show(View::run);
    settle();
    press('R');
    at_every_size([&](const std::string& size) {
      EXPECT_EQ(text_faults(), std::vector<std::string>()) << shape << " " << size;
    });
  }
}

}  // namespace
}  // namespace poprt::inspector
