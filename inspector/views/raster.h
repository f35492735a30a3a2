// Triangles as pixels, without OpenGL: pictures of whole graphs, larger than any window.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "views/graph_view.h"

namespace poprt::inspector {

// The font's texture.
struct FontPicture {
  int width = 0, height = 0;
  std::vector<uint8_t> alpha;
};

// RGBA rows from the bottom up, as write_png() takes them. Throws Error(cancelled).
std::vector<uint8_t> rasterised(const GraphView::Drawing& drawing, const FontPicture& font,
                                const std::atomic<bool>& cancel);

}  // namespace poprt::inspector
