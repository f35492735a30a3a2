#include "views/raster.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace poprt::inspector {
namespace {

constexpr size_t kBetweenLooks = 4096;  // triangles between two checks of `cancel`

class Canvas {
 public:
  Canvas(int width, int height, ImU32 background)
      : width_(width), height_(height), pixels(static_cast<size_t>(width) * height * 4) {
    for (size_t i = 0; i < pixels.size(); i++)
      pixels[i] = i % 4 == 3 ? 255 : static_cast<uint8_t>(background >> (8 * (i % 4)) & 255);
  }

  void draw(std::array<const ImDrawVert*, 3> v, const FontPicture& font) {
    float area = edge(v[0]->pos, v[1]->pos, v[2]->pos);
    if (area == 0) return;
    if (area < 0) {
      std::swap(v[1], v[2]);
      area = -area;
    }
    const auto [x0, x1] = std::minmax({v[0]->pos.x, v[1]->pos.x, v[2]->pos.x});
    const auto [y0, y1] = std::minmax({v[0]->pos.y, v[1]->pos.y, v[2]->pos.y});
    const int left = std::max(0, static_cast<int>(std::floor(x0))),
              right = std::min(width_ - 1, static_cast<int>(std::ceil(x1))),
              top = std::max(0, static_cast<int>(std::floor(y0))),
              bottom = std::min(height_ - 1, static_cast<int>(std::ceil(y1)));
    for (int y = top; y <= bottom; y++)
      for (int x = left; x <= right; x++) {
        const ImVec2 p = {static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f};
        std::array<float, 3> w{};
        bool inside = true;
        for (size_t i = 0; i < 3 && inside; i++) {
          const ImVec2 &a = v[(i + 1) % 3]->pos, &b = v[(i + 2) % 3]->pos;
          w[i] = edge(a, b, p) / area;
          // A pixel on a shared edge belongs to only one of the two triangles.
          const bool owns = a.y == b.y ? b.x > a.x : b.y < a.y;
          inside = w[i] > 0 || (w[i] == 0 && owns);
        }
        if (inside) blend(x, y, v, w, font);
      }
  }

 private:
  static float edge(const ImVec2& a, const ImVec2& b, const ImVec2& p) {
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
  }

  // Bilinear interpolation, as in the window.
  static float texel(const FontPicture& font, float u, float v) {
    const float x = u * static_cast<float>(font.width) - 0.5f,
                y = v * static_cast<float>(font.height) - 0.5f;
    const float fx = x - std::floor(x), fy = y - std::floor(y);
    const auto at = [&](int dx, int dy) {
      const int px = std::clamp(static_cast<int>(std::floor(x)) + dx, 0, font.width - 1),
                py = std::clamp(static_cast<int>(std::floor(y)) + dy, 0, font.height - 1);
      return static_cast<float>(font.alpha[static_cast<size_t>(py) * font.width + px]) / 255;
    };
    return (at(0, 0) * (1 - fx) + at(1, 0) * fx) * (1 - fy) +
           (at(0, 1) * (1 - fx) + at(1, 1) * fx) * fy;
  }

  void blend(int x, int y, const std::array<const ImDrawVert*, 3>& v, const std::array<float, 3>& w,
             const FontPicture& font) {
    const auto mixed = [&](auto&& of) {
      return of(*v[0]) * w[0] + of(*v[1]) * w[1] + of(*v[2]) * w[2];
    };
    const auto channel = [&](int shift) {
      return mixed(
          [shift](const ImDrawVert& d) { return static_cast<float>(d.col >> shift & 255); });
    };
    const float alpha = channel(IM_COL32_A_SHIFT) / 255 *
                        texel(font, mixed([](const ImDrawVert& d) { return d.uv.x; }),
                              mixed([](const ImDrawVert& d) { return d.uv.y; }));
    uint8_t* to = &pixels[(static_cast<size_t>(height_ - 1 - y) * width_ + x) * 4];
    for (int c = 0; c < 3; c++)
      to[c] = static_cast<uint8_t>(
          std::lround(static_cast<float>(to[c]) * (1 - alpha) + channel(8 * c) * alpha));
  }

  int width_, height_;

 public:
  std::vector<uint8_t> pixels;
};

}  // namespace

std::vector<uint8_t> rasterised(const GraphView::Drawing& drawing, const FontPicture& font,
                                const std::atomic<bool>& cancel) {
  Canvas canvas(drawing.width, drawing.height, drawing.background);
  for (size_t i = 0; i + 2 < drawing.triangles.size(); i += 3) {
    if (i % (3 * kBetweenLooks) == 0 && cancel.load(std::memory_order_relaxed))
      fail(ErrorCode::cancelled, "drawing was cancelled");
    canvas.draw(
        {&drawing.vertices[drawing.triangles[i]], &drawing.vertices[drawing.triangles[i + 1]],
         &drawing.vertices[drawing.triangles[i + 2]]},
        font);
  }
  return std::move(canvas.pixels);
}

}  // namespace poprt::inspector
