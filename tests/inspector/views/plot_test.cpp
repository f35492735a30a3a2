#include "views/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

TEST(Plot, APointerOutsideOfALineHasNoValue) {
  constexpr float kGap = std::numeric_limits<float>::quiet_NaN();
  const ui::PlotLine line{"a", 0, {{-10, 1}, {-9, 2}, {-8, kGap}, {-3, 5}, {-2, 6}}};
  EXPECT_EQ(ui::value_at(line, -30, 0.5f), std::nullopt) << "before the process existed";
  EXPECT_EQ(ui::value_at(line, -10.4f, 0.5f), 1);
  EXPECT_EQ(ui::value_at(line, -9.8f, 0.5f), 1);
  EXPECT_EQ(ui::value_at(line, -9.3f, 0.5f), 2);
  EXPECT_EQ(ui::value_at(line, -6, 0.5f), std::nullopt) << "in the gap";
  EXPECT_EQ(ui::value_at(line, -2.9f, 0.5f), 5);
  EXPECT_EQ(ui::value_at(line, 0, 0.5f), std::nullopt) << "after the process ended";
  EXPECT_EQ(ui::value_at({"empty", 0, {}}, 0, 1), std::nullopt);
}

TEST(Plot, LogarithmicAxesHaveRoundLabels) {
  using Ticks = std::vector<double>;
  EXPECT_EQ(ui::logarithmic_ticks(100, 1e6), (Ticks{100, 1e3, 1e4, 1e5, 1e6}));
  EXPECT_EQ(ui::logarithmic_ticks(10, 200), (Ticks{10, 20, 50, 100, 200}));
  EXPECT_EQ(ui::logarithmic_ticks(1, 10), (Ticks{1, 2, 5, 10}));
}

// The area of the triangles of a colour, without their smoothed edges.
float area_of(const ImDrawList& list, ImU32 colour) {
  float area = 0;
  for (int i = 0; i + 2 < list.IdxBuffer.Size; i += 3) {
    const auto vertex = [&](int k) -> const ImDrawVert& {
      return list.VtxBuffer[list.IdxBuffer[i + k]];
    };
    const ImDrawVert &a = vertex(0), &b = vertex(1), &c = vertex(2);
    if (a.col != colour || b.col != colour || c.col != colour) continue;
    area += std::abs((b.pos.x - a.pos.x) * (c.pos.y - a.pos.y) -
                     (b.pos.y - a.pos.y) * (c.pos.x - a.pos.x)) /
            2;
  }
  return area;
}

// Draws a plot of 400 x 300 with one line over [0, 300], and returns the area of the line.
float drawn_area(const std::vector<ImVec2>& points) {
  constexpr ImU32 kColour = IM_COL32(250, 180, 20, 255);
  const auto no_text = [](double) { return std::string(); };
  ImGui::NewFrame();
  ImGui::Begin("window");
  // The line is 4 pixels wide, including one pixel of smoothed edges.
  ui::plot("plot", {400, 300}, {{"line", kColour, points, false, false, 4}}, 0, 300, no_text,
           no_text);
  const float area = area_of(*ImGui::GetWindowDrawList(), kColour);
  ImGui::End();
  ImGui::EndFrame();
  return area;
}

TEST_F(WorkspaceTest, AShortPeakOfALineIsAsWideAsALongOne) {
  const float longer = drawn_area({{0, 0}, {100, 0}, {104, 1}, {200, 1}, {204, 0}, {300, 0}});
  const float shorter = drawn_area({{0, 0}, {100, 0}, {102, 1}, {104, 0}, {300, 0}});
  // The longer peak has a top, and the shorter one a longer base; the rises are equal.
  EXPECT_NEAR(shorter, longer, 0.05f * longer);
}

}  // namespace
}  // namespace poprt::inspector
