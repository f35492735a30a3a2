#include "views/tensor_panel.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/format.h"
#include "views/ui.h"

namespace poprt::inspector {
namespace {

constexpr int64_t kMostColumns = 16;
constexpr int64_t kMostRowsShown = 1 << 20;  // the limit of a scroll bar

void draw_histogram(const TensorStatistics& s) {
  const ui::Colours& c = ui::colours();
  const ImVec2 at = ImGui::GetCursorScreenPos(),
               size = {ImGui::GetContentRegionAvail().x, 90 * ui::scale()};
  ui::hit_area("histogram", size);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, c.back, 3);
  const uint64_t most =
      std::max<uint64_t>(1, *std::max_element(s.histogram.begin(), s.histogram.end()));
  const float width = size.x / static_cast<float>(TensorStatistics::kBins);
  for (size_t i = 0; i < TensorStatistics::kBins; i++) {
    const float height =
        static_cast<float>(s.histogram[i]) / static_cast<float>(most) * (size.y - 4);
    const float x = at.x + width * static_cast<float>(i);
    if (height > 0)
      list->AddRectFilled({x, at.y + size.y - std::max(height, 1.0f)},
                          {x + std::max(width - 1, 1.0f), at.y + size.y}, c.accent);
  }
  if (ImGui::IsItemHovered()) {
    const auto bin =
        std::min(static_cast<size_t>(std::max(0.0f, (ImGui::GetIO().MousePos.x - at.x) / width)),
                 TensorStatistics::kBins - 1);
    const double step = (s.most - s.least) / static_cast<double>(TensorStatistics::kBins);
    ui::tooltip(
        fmt::format("{} to {}: {} elements", number_text(s.least + step * static_cast<double>(bin)),
                    number_text(s.least + step * static_cast<double>(bin + 1)), s.histogram[bin]));
  }
  const std::string left = number_text(s.least), right = number_text(s.most);
  ui::dim_text(left);
  ImGui::SameLine(std::max(0.0f, ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x -
                                     ImGui::CalcTextSize(right.c_str()).x));
  ui::dim_text(right);
}

}  // namespace

void TensorPanel::draw(const std::string& name, const Tensor& tensor) {
  // A pass may change the shape of a weight and keep its bytes.
  if (name != name_ || tensor.data() != tensor_.data() || tensor.dtype() != tensor_.dtype() ||
      tensor.shape() != tensor_.shape()) {
    name_ = name;
    tensor_ = tensor;
    statistics_ = nullptr;
    error_.clear();
    slice_ = column_ = 0;
    task_ = Task<TensorStatistics>(
        [tensor](Progress& progress) {
          return tensor_statistics(tensor, kMostExamined, &progress.cancel);
        },
        wake_);
  }
  if (!statistics_ && error_.empty() && !task_.running()) {
    if (auto made = task_.take())
      statistics_ = std::make_shared<TensorStatistics>(*made);
    else
      error_ = task_.error();
  }
  ui::row("type",
          fmt::format("{} {}", dtype_name(tensor.dtype()), dimensions_text(tensor.shape())));
  ui::row("bytes", bytes_text(tensor.bytes()));
  if (!error_.empty()) ui::coloured_text(ui::colours().bad, error_);
  if (statistics_)
    draw_statistics(*statistics_);
  else if (error_.empty())
    ui::dim_text("Counting …");
  draw_grid();
}

void TensorPanel::draw_statistics(const TensorStatistics& s) const {
  const bool sampled = s.examined < s.elements;
  const char* about = sampled ? "about " : "";
  ui::row("elements", sampled ? fmt::format("{}, of which {} were examined", s.elements, s.examined)
                              : std::to_string(s.elements));
  if (!s.numeric || s.examined == 0) return;
  if (s.has_finite()) {
    ui::row("range", fmt::format("{}{} to {}", about, number_text(s.least), number_text(s.most)));
    ui::row("mean, deviation",
            fmt::format("{}{}, {}", about, number_text(s.mean), number_text(s.deviation)));
  } else {
    ui::row("range", "none, no element is finite");
  }
  const double part = static_cast<double>(s.zeros) / static_cast<double>(s.examined);
  const double zeros =
      sampled ? part * static_cast<double>(s.elements) : static_cast<double>(s.zeros);
  ui::row("zeros", fmt::format("{}{:.0f} ({:.1f} %)", about, zeros, 100 * part));
  if (s.nans + s.infinities > 0)
    ui::coloured_text(ui::colours().bad, fmt::format("{} NaN, {} infinite", s.nans, s.infinities));
  if (s.has_finite()) draw_histogram(s);
}

// Returns the number of columns of elements that are completely visible next to the column of
// indices up to `indices`. The width of an element is estimated from some of them.
int64_t TensorPanel::columns_that_fit(int64_t indices) const {
  constexpr int64_t kSamples = 64;
  const auto width = [](const std::string& text) { return ImGui::CalcTextSize(text.c_str()).x; };
  const int64_t samples = std::min(kSamples, tensor_.count());
  float widest = 0;
  for (int64_t i = 0; i < samples; i++)
    widest = std::max(widest, width(element_text(tensor_, i * tensor_.count() / samples)));
  const ImGuiStyle& style = ImGui::GetStyle();
  const float around = 2 * style.CellPadding.x + 1;
  const float room = ImGui::GetContentRegionAvail().x - style.ScrollbarSize -
                     width(std::to_string(indices)) - around;
  return std::clamp<int64_t>(static_cast<int64_t>(room / (widest + around)), 1, kMostColumns);
}

// Shows the last two dimensions as rows and columns. Sliders select the other dimensions and the
// columns if they do not fit. A single long row is split into lines.
void TensorPanel::draw_grid() {
  if (tensor_.count() == 0) return;
  const Shape& shape = tensor_.shape();
  const int64_t columns = shape.empty() ? 1 : shape.back();
  const int64_t rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const int64_t slices = tensor_.count() / (rows * columns);
  const auto slider = [](const char* name, int& value, int64_t most) {
    ImGui::SetNextItemWidth(-1);
    ImGui::SliderInt(fmt::format("##{}", name).c_str(), &value, 0,
                     static_cast<int>(std::min<int64_t>(most, INT32_MAX)),
                     fmt::format("{} %d", name).c_str());
    value = static_cast<int>(std::clamp<int64_t>(value, 0, most));
    ui::mark(name);
  };
  if (slices > 1) slider("slice", slice_, slices - 1);
  const int64_t shown = std::min(columns, columns_that_fit(std::max(rows, columns)));
  const bool broken = rows == 1 && columns > shown;
  if (columns > shown && !broken) slider("column", column_, columns - shown);
  const int64_t lines = broken ? (columns + shown - 1) / shown : rows;
  const ImGuiTableFlags flags = ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY |
                                ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV |
                                ImGuiTableFlags_SizingFixedFit;
  const float line = ImGui::GetTextLineHeight() + 7 * ui::scale();
  const float least = 140 * ui::scale(), room = ImGui::GetContentRegionAvail().y;
  const float height = std::min(static_cast<float>(lines + 2) * line, std::max(least, room));
  if (!ImGui::BeginTable("values", static_cast<int>(shown) + 1, flags, {0, height})) return;
  ImGui::TableSetupScrollFreeze(1, 0);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(std::min(lines, kMostRowsShown)));
  while (clipper.Step())
    for (int r = clipper.DisplayStart; r < clipper.DisplayEnd; r++) {
      const int64_t first = broken ? r * shown : r * columns + (columns > shown ? column_ : 0);
      ImGui::TableNextRow();
      ImGui::TableSetColumnIndex(0);
      ImGui::TextDisabled("%lld", static_cast<long long>(broken ? first : r));
      for (int64_t col = 0; col < shown && (!broken || first + col < columns); col++) {
        ImGui::TableSetColumnIndex(static_cast<int>(col) + 1);
        ui::text(element_text(tensor_, slice_ * rows * columns + first + col));
      }
    }
  ImGui::EndTable();
}

}  // namespace poprt::inspector
