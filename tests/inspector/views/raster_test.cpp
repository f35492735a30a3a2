#include "views/raster.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "inspector/views/workspace_support.h"

namespace poprt::inspector {
namespace {

TEST_F(WorkspaceTest, ExportsTheGraphAsPictures) {
  open_sample();
  ASSERT_TRUE(workspace->export_picture());
  settle();
  EXPECT_TRUE(workspace->message().starts_with("wrote ")) << workspace->message();
  std::ifstream file(folder.path / "net.ir.png", std::ios::binary);
  std::string head(24, '\0');
  file.read(head.data(), 24);
  EXPECT_EQ(head.substr(0, 8), "\x89PNG\r\n\x1a\n");
  // Nothing of it is drawn in the window.
  EXPECT_TRUE(sees("node /block/Sigmoid"));
  ASSERT_TRUE(workspace->export_picture("/nowhere/at/all.png"));
  settle();
  EXPECT_NE(workspace->message().find("/nowhere/at"), std::string::npos) << workspace->message();
}

// The picture has the colours of the boxes at their positions, and the background elsewhere.
TEST_F(WorkspaceTest, APictureOfTheGraphHasItsBoxes) {
  open_sample();
  const auto drawing = workspace->graph()->drawing(1);
  ASSERT_TRUE(drawing);
  const FontPicture font{1, 1, {255}};
  const std::atomic<bool> cancel{false};
  const auto pixels = rasterised(*drawing, font, cancel);
  ASSERT_EQ(pixels.size(), static_cast<size_t>(drawing->width) * drawing->height * 4);
  const auto at = [&](double x, double y) {
    const auto row = static_cast<size_t>(drawing->height - 1 - static_cast<int>(y));
    const uint8_t* p = &pixels[(row * drawing->width + static_cast<size_t>(x)) * 4];
    return IM_COL32(p[0], p[1], p[2], p[3]);
  };
  EXPECT_EQ(at(1, 1), ui::colours().back);
  const Scene& scene = *workspace->graph()->scene();
  int boxes = 0;
  for (const SceneBox& b : scene.boxes) {
    if (b.node == kNone) continue;
    EXPECT_NE(at(b.area.right() + 20 - 4, b.area.y + 20 + b.area.height / 2), ui::colours().back);
    boxes++;
  }
  EXPECT_EQ(boxes, 6);
}

}  // namespace
}  // namespace poprt::inspector
