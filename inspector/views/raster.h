// Rasterises triangles without OpenGL, for pictures of whole graphs that are larger than a window.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "views/graph_view.h"

namespace poprt::inspector {

// The texture of the font.
struct FontPicture {
  int width = 0, height = 0;
  std::vector<uint8_t> alpha;
};

// Returns RGBA rows, bottom row first, as write_png() requires. Throws Error(cancelled).
std::vector<uint8_t> rasterised(const GraphView::Drawing& drawing, const FontPicture& font,
                                const std::atomic<bool>& cancel);

}  // namespace poprt::inspector
