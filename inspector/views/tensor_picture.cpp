#include "views/tensor_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/format.h"
#include "model/tensor_compare.h"
#include "model/tensor_statistics.h"
#include "views/ui.h"

namespace poprt::inspector {
namespace {

constexpr int64_t kLeastSide = 8;
constexpr int kMostCells = 128;        // per side; every cell is a rectangle
constexpr int64_t kMostPoints = 4096;  // points of a line

}  // namespace

bool is_picture(const Tensor& tensor) {
  const PictureShape p = picture_shape(tensor);
  return p.height >= kLeastSide && p.width >= kLeastSide && tensor.count() > 0;
}

void TensorPicture::draw(const Tensor& tensor, ImVec2 size) {
  const PictureShape p = picture_shape(tensor);
  const float fit =
      std::min(size.x / static_cast<float>(p.width), size.y / static_cast<float>(p.height));
  const ImVec2 extent = {static_cast<float>(p.width) * fit, static_cast<float>(p.height) * fit};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ui::hit_area("picture", extent);
  const PictureSamples* const samples = samples_.get(tensor, 0, [tensor](Progress& progress) {
    return picture_samples(tensor, kMostCells, &progress.cancel);
  });
  if (!samples) return;
  const int columns = samples->columns, rows = samples->rows;
  const auto colour = [&](int row, int column) {
    const auto byte = [&](int64_t c) { return samples->byte(row, column, c, p.channels); };
    const int r = byte(0);
    return p.channels == 3 ? IM_COL32(r, byte(1), byte(2), 255) : IM_COL32(r, r, r, 255);
  };
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float w = extent.x / static_cast<float>(columns), h = extent.y / static_cast<float>(rows);
  for (int row = 0; row < rows; row++)
    for (int column = 0; column < columns;) {  // equal neighbours share a rectangle
      const ImU32 hue = colour(row, column);
      int end = column + 1;
      while (end < columns && colour(row, end) == hue) end++;
      list->AddRectFilled(
          {at.x + w * static_cast<float>(column), at.y + h * static_cast<float>(row)},
          {at.x + w * static_cast<float>(end), at.y + h * static_cast<float>(row + 1)}, hue);
      column = end;
    }
  if (!ImGui::IsItemHovered()) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const int64_t x = std::clamp<int64_t>(static_cast<int64_t>((mouse.x - at.x) / fit), 0,
                                        p.width - 1),
                y = std::clamp<int64_t>(static_cast<int64_t>((mouse.y - at.y) / fit), 0,
                                        p.height - 1);
  ui::tooltip(fmt::format("row {}, column {}: {}", y, x, element_text(tensor, p.element(y, x, 0))));
}

const RowSamples* TensorRow::samples(const Tensor& tensor, int64_t row) {
  return samples_.get(tensor, row, [tensor, row](Progress& progress) {
    return row_samples(tensor, row, kMostPoints, kTop, &progress.cancel);
  });
}

void TensorRow::draw(const char* name, const Tensor& tensor, int64_t row, ImVec2 size) {
  const ui::Colours& c = ui::colours();
  const float s = ui::scale();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ui::hit_area(name, size);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, c.back, 3 * s);
  const int64_t length = row_length(tensor);
  if (row < 0 || row >= row_count(tensor) || dtype_bits(tensor.dtype()) == 0) return;
  const RowSamples* const drawn = samples(tensor, row);
  if (!drawn) return;
  const double least = drawn->least, most = drawn->most;
  const double range = most > least ? most - least : 1;
  const float pad = 6 * s;
  const auto y_of = [&](double v) {
    return at.y + size.y - pad - static_cast<float>((v - least) / range) * (size.y - 2 * pad);
  };
  const auto x_of = [&](int64_t i) {
    return at.x + pad +
           (static_cast<float>(i) + 0.5f) / static_cast<float>(length) * (size.x - 2 * pad);
  };
  list->AddLine({at.x, y_of(0)}, {at.x + size.x, y_of(0)}, c.border);
  std::vector<ImVec2> points;
  for (const auto& [i, v] : drawn->points) points.push_back({x_of(i), y_of(v)});
  constexpr size_t kMostBars = 96;
  if (points.size() <= kMostBars) {
    const float half = std::max(1.0f, (size.x - 2 * pad) / static_cast<float>(length) * 0.4f);
    for (const ImVec2& p : points)
      list->AddRectFilled({p.x - half, std::min(p.y, y_of(0))},
                          {p.x + half, std::max({p.y, y_of(0), std::min(p.y, y_of(0)) + 1})},
                          c.accent);
  } else {
    list->AddPolyline(points.data(), static_cast<int>(points.size()), c.accent, 0, 1.2f * s);
  }
  if (!ImGui::IsItemHovered()) return;
  const float part = (ImGui::GetIO().MousePos.x - at.x - pad) / std::max(1.0f, size.x - 2 * pad);
  const auto i =
      std::clamp<int64_t>(static_cast<int64_t>(part * static_cast<float>(length)), 0, length - 1);
  ui::tooltip(fmt::format("{}: {}", i, element_text(tensor, row * length + i)));
}

}  // namespace poprt::inspector
