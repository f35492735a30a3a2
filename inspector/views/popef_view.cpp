#include "views/popef_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "model/format.h"

namespace poprt::inspector {
namespace {

ImU32 colour_of_blob(const std::string& type) {
  uint32_t number = static_cast<uint32_t>(popef::BlobType::POPLAR_EXECUTABLE);
  while (number < static_cast<uint32_t>(popef::BlobType::OPAQUE) &&
         popef::blob_type_name(static_cast<popef::BlobType>(number)) != type)
    number++;
  return ui::colour_at(number);
}

}  // namespace

void PopefView::set_file(std::shared_ptr<const PopefFile> file) {
  if (file == file_) return;
  file_ = std::move(file);
  data_row_ = opaque_row_ = blob_row_ = loaded_row_ = opaque_shown_ = -1;
  loaded_ = {};
  shapes_ = {};
  find_owners();
}

void PopefView::find_owners() {
  owners_ = {{}};
  owner_names_ = {"all models"};
  if (!file_) return;
  const bool several = file_->metadata().size() > 1;
  for (size_t i = 0; several && i < file_->metadata().size(); i++) {
    owner_names_.push_back(printable(file_->metadata()[i].executable()));
    owners_.push_back({owner_names_.back(), {}});
  }
  for (size_t i = 0; i < file_->executable_count(); i++) {
    const auto variants = file_->variants(i);
    for (size_t g = 0; g < variants.size(); g++)
      if (variants[g].starts_with(fmt::format("graph{} ", g))) {
        const std::string model = printable(file_->executable_name(i));
        owner_names_.push_back(several ? fmt::format("{}: {}", model, variants[g]) : variants[g]);
        owners_.push_back({several ? model : "", fmt::format("graph{}/", g)});
      }
  }
  if (static_cast<size_t>(owner_) >= owners_.size()) owner_ = 0;
}

std::vector<size_t> PopefView::anchor_rows() const {
  const Owner& owner = owners_[static_cast<size_t>(owner_)];
  auto rows = file_->anchor_rows(filter, static_cast<AnchorColumn>(anchors_state_.sort_column),
                                 anchors_state_.descending, owner.prefix);
  if (!owner.model.empty())
    std::erase_if(rows, [&](size_t r) { return file_->anchors()[r].model != owner.model; });
  return rows;
}

void PopefView::select_anchor(const std::string& name) {
  if (name == anchor_) return;
  anchor_ = name;
  if (!file_) return;
  if (!name.starts_with(owners_[static_cast<size_t>(owner_)].prefix)) owner_ = 0;
  const auto rows = anchor_rows();
  for (size_t i = 0; i < rows.size(); i++)
    if (file_->anchors()[rows[i]].name == name) anchors_state_.scroll_to = static_cast<int>(i);
}

std::string PopefView::status() const {
  if (!file_) return "not a PopEF file";
  return fmt::format("{} · {}", counted(file_->blobs().size(), "blob"),
                     counted(file_->anchors().size(), "anchor"));
}

// Draws the whole file from left to right. Every blob is wide enough to be visible and clickable.
void PopefView::draw_map(float width) {
  const ui::Colours& c = ui::colours();
  const float s = ui::scale(), height = 40 * s, least_width = 7 * s;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ui::hit_area("file map", {width, height});
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + width, at.y + height}, c.raised, 4 * s);
  const size_t n = file_->blobs().size();
  const float spare = std::max(0.0f, width - least_width * static_cast<float>(n));
  const float least = spare > 0 ? least_width : width / static_cast<float>(std::max<size_t>(n, 1));
  const auto total = static_cast<double>(std::max<uint64_t>(1, file_->file_bytes()));
  float x = at.x;
  const BlobRow* hovered = nullptr;
  for (size_t i = 0; i < n; i++) {
    const BlobRow& b = file_->blobs()[i];
    const float w = least + spare * static_cast<float>(static_cast<double>(b.size) / total);
    const ImU32 hue = colour_of_blob(b.type);
    const bool chosen = static_cast<int>(i) == blob_row_;
    const ImU32 fill = ui::mixed(c.panel, hue, chosen ? 0.95f : 0.5f);
    list->AddRectFilled({x, at.y}, {x + w - 1, at.y + height}, fill, 2 * s);
    const std::string label = b.name.empty() ? b.type : b.name;
    if (w > 60 * s) {
      const auto line = [&](float y, const std::string& text) {
        ui::label(list, {x + 8 * s, at.y + y * s}, ui::readable(c.text, fill),
                  ui::fitted(text, w - 12 * s, ui::Cut::end));
      };
      line(3, label);
      line(20, bytes_text(b.size));
    }
    if (ImGui::IsItemHovered() && ImGui::GetIO().MousePos.x >= x &&
        ImGui::GetIO().MousePos.x < x + w) {
      hovered = &b;
      if (ImGui::IsMouseClicked(0)) blob_row_ = static_cast<int>(i);
    }
    x += w;
  }
  draw_unread(x, at, {width, height});
  if (hovered)
    ui::tooltip(fmt::format(
        "{} {}\noffset {}\nsize {} ({})\npayload {}{}", hovered->type, hovered->name,
        hovered->offset, hovered->size, bytes_text(hovered->size), hovered->payload_bytes,
        hovered->compressed ? fmt::format(", {} decompressed", hovered->raw_bytes) : ""));
}

// Draws the unreadable rest of a damaged file.
void PopefView::draw_unread(float x, ImVec2 at, ImVec2 size) const {
  const ui::Colours& c = ui::colours();
  const float s = ui::scale();
  uint64_t end = 0;
  for (const BlobRow& b : file_->blobs()) end = std::max(end, b.offset + b.size);
  if (file_->problems().empty() || end >= file_->file_bytes() || x + 4 * s > at.x + size.x) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 most = {at.x + size.x, at.y + size.y};
  const ImU32 fill = ui::mixed(c.panel, c.bad, 0.35f);
  list->AddRectFilled({x, at.y}, most, fill, 2 * s);
  const std::string label = "not readable, " + bytes_text(file_->file_bytes() - end);
  ui::label(list, {x + 8 * s, at.y + 12 * s}, ui::readable(c.text, fill),
            ui::fitted(label, most.x - x - 12 * s, ui::Cut::end));
  ui::mark(label, {x, at.y}, most);
}

void PopefView::draw(ImVec2 size) {
  if (!file_) {
    ui::dim_text("This is not a PopEF file; open a .popef file to see blobs and anchors");
    return;
  }
  for (const std::string& problem : file_->problems())
    ui::coloured_text(ui::colours().warn, problem);
  draw_map(size.x);
  const std::pair<Page, std::string> pages[] = {
      {Page::anchors, fmt::format("Anchors {}", file_->anchors().size())},
      {Page::data, fmt::format("Data {}", file_->data().size())},
      {Page::opaque, fmt::format("Opaque {}", file_->opaque().size())},
      {Page::metadata, "Metadata"},
      {Page::blobs, fmt::format("Blobs {}", file_->blobs().size())}};
  for (const auto& [p, label] : pages) {
    if (ui::button(label.c_str(), nullptr, page == p)) page = p;
    ImGui::SameLine();
  }
  const bool several = owners_.size() > 1;
  ui::field("filter", "Filter rows", filter,
            std::min((several ? 180 : 280) * ui::scale(), ImGui::GetContentRegionAvail().x));
  if (page == Page::anchors && several) {
    ImGui::SameLine();
    ui::choice("anchors of", owner_names_, owner_,
               std::min(260 * ui::scale(), ImGui::GetContentRegionAvail().x));
  }
  const ImVec2 rest = ImGui::GetContentRegionAvail();
  switch (page) {
    case Page::anchors: draw_anchors(rest); break;
    case Page::data: draw_data(rest); break;
    case Page::opaque: draw_opaque(rest); break;
    case Page::metadata: draw_metadata(rest); break;
    case Page::blobs: draw_blobs(rest); break;
  }
}

void PopefView::draw_anchors(ImVec2 size) {
  // Limits the details, because the nine columns need space.
  const float details = ui::panel("anchor", std::min(360.0f, size.x * 0.26f / ui::scale()),
                                  140 * ui::scale(), size.x * 0.6f);
  const float spacing = ImGui::GetStyle().ItemSpacing.x;
  const auto rows = anchor_rows();
  std::vector<ui::Column> columns;
  static constexpr float widths[] = {3.2f, 1.25f, 0.8f, 1.7f, 1.2f, 1.2f, 1.35f, 2.1f, 0.8f};
  for (int i = 0; i < kAnchorColumns; i++) {
    const auto column = static_cast<AnchorColumn>(i);
    const bool flexible = column == AnchorColumn::name || column == AnchorColumn::shape ||
                          column == AnchorColumn::handle || column == AnchorColumn::bytes;
    columns.push_back(
        {anchor_column_name(column), widths[i], column == AnchorColumn::bytes, !flexible});
  }
  const ui::Colours& c = ui::colours();
  ui::table(
      "anchors", columns, rows.size(),
      [&](size_t r, int col) {
        return anchor_cell(file_->anchors()[rows[r]], static_cast<AnchorColumn>(col));
      },
      [&](size_t r) { return file_->anchors()[rows[r]].name == anchor_; },
      [&](size_t r) {
        const std::string& name = file_->anchors()[rows[r]].name;
        anchor_ = anchor_ == name ? "" : name;
      },
      anchors_state_, {size.x - details - spacing, size.y},
      [&](size_t r, int col) {
        const std::string& direction = file_->anchors()[rows[r]].direction;
        if (static_cast<AnchorColumn>(col) != AnchorColumn::direction) return c.text;
        return direction == "INPUT" ? c.good : direction == "OUTPUT" ? c.accent : c.dim;
      });
  ui::splitter("anchor", size.y, true);
  ImGui::BeginChild("anchor details", {0, size.y}, true);
  draw_anchor_details();
  ImGui::EndChild();
}

void PopefView::draw_anchor_details() {
  const auto found = std::find_if(file_->anchors().begin(), file_->anchors().end(),
                                  [&](const AnchorRow& a) { return a.name == anchor_; });
  if (found == file_->anchors().end()) {
    ui::dim_text("Select an anchor");
    return;
  }
  ui::heading(found->name);
  ui::row("model", found->model);
  for (int i = 1; i < kAnchorColumns; i++)
    ui::row(anchor_column_name(static_cast<AnchorColumn>(i)),
            anchor_cell(*found, static_cast<AnchorColumn>(i)));
  if (shapes_.first != anchor_) shapes_ = {anchor_, file_->shapes_of(*found)};
  if (!shapes_.second.empty()) ui::heading("Shapes");
  for (size_t i = 0; i < shapes_.second.size(); i++)
    ui::row(fmt::format("shapes {}", i), shapes_.second[i]);
  for (size_t i = 0; i < file_->data().size(); i++)
    if (file_->data()[i].name == anchor_) {
      ui::heading("Data in the file");
      draw_data_details(i);
      break;
    }
}

void PopefView::draw_data_details(size_t row) {
  if (loaded_row_ != static_cast<int>(row)) {
    loaded_row_ = static_cast<int>(row);
    load_error_.clear();
    try {
      loaded_ = file_->tensor(row);
    } catch (const std::exception& e) {
      loaded_ = {};
      load_error_ = printable(e.what());
    }
  }
  if (!load_error_.empty()) {
    ui::coloured_text(ui::colours().bad, load_error_);
    return;
  }
  if (ui::button("Export .npy", "Writes NAME.npy next to the file"))
    export_ = static_cast<int>(row);
  panel_.draw(file_->data()[row].name, loaded_);
}

void PopefView::draw_data(ImVec2 size) {
  const float details = ui::panel("data", 380, 160 * ui::scale(), size.x * 0.6f);
  const float spacing = ImGui::GetStyle().ItemSpacing.x;
  std::vector<size_t> rows;
  for (size_t i = 0; i < file_->data().size(); i++)
    if (contains_text(file_->data()[i].name, filter)) rows.push_back(i);
  ui::table(
      "data",
      {{"Name", 3},
       {"Executable", 2},
       {"Type", 0.8f},
       {"Shape", 2},
       {"Tensors", 0.8f, true},
       {"Bytes", 1.2f, true}},
      rows.size(),
      [&](size_t r, int col) -> std::string {
        const DataRow& d = file_->data()[rows[r]];
        const std::string cells[] = {
            d.name, d.executable, d.dtype, d.shape, std::to_string(d.tensors), bytes_text(d.bytes)};
        return cells[col];
      },
      [&](size_t r) { return data_row_ == static_cast<int>(rows[r]); },
      [&](size_t r) { data_row_ = static_cast<int>(rows[r]); }, data_state_,
      {size.x - details - spacing, size.y});
  ui::splitter("data", size.y, true);
  ImGui::BeginChild("data details", {0, size.y}, true);
  if (data_row_ < 0)
    ui::dim_text(file_->data().empty() ? "No tensor or feed data in this file"
                                       : "Select data to see its values");
  else
    draw_data_details(static_cast<size_t>(data_row_));
  ImGui::EndChild();
}

void PopefView::draw_opaque(ImVec2 size) {
  const float list = std::min(340 * ui::scale(), size.x * 0.35f);
  ui::table(
      "opaque", {{"Name", 2.5f}, {"Executable", 1.5f}, {"Bytes", 1, true}}, file_->opaque().size(),
      [&](size_t r, int col) -> std::string {
        const OpaqueRow& o = file_->opaque()[r];
        return col == 0 ? o.name : col == 1 ? o.executable : bytes_text(o.bytes);
      },
      [&](size_t r) { return opaque_row_ == static_cast<int>(r); },
      [&](size_t r) { opaque_row_ = static_cast<int>(r); }, opaque_state_, {list, size.y});
  ImGui::SameLine();
  ImGui::BeginChild("opaque contents", {0, size.y}, true, ImGuiWindowFlags_HorizontalScrollbar);
  if (opaque_row_ < 0) {
    ui::dim_text(file_->opaque().empty() ? "No opaque blobs in this file"
                                         : "Select a blob to see its contents");
  } else {
    if (opaque_shown_ != opaque_row_) {
      opaque_shown_ = opaque_row_;
      try {
        opaque_text_ = file_->opaque_text(static_cast<size_t>(opaque_row_));
      } catch (const std::exception& e) {
        opaque_text_ = printable(e.what());
      }
    }
    ImGui::PushFont(ui::fixed_font());
    ui::text(opaque_text_);
    ImGui::PopFont();
  }
  ImGui::EndChild();
}

void PopefView::draw_metadata(ImVec2 size) {
  ImGui::BeginChild("metadata", size, true);
  for (size_t i = 0; i < file_->metadata().size(); i++) {
    ui::heading(fmt::format("Model {}", i));
    ImGui::PushID(static_cast<int>(i));
    const auto rows = file_->metadata_rows(i);
    float widest = 0;
    for (const auto& [key, value] : rows)
      widest = std::max(widest, ImGui::CalcTextSize(key.c_str()).x);
    for (const auto& [key, value] : rows)
      if (contains_text(key, filter) || contains_text(value, filter))
        ui::row(key, value, ImGui::GetCursorPosX() + widest + 24 * ui::scale());
    ImGui::PopID();
  }
  ImGui::EndChild();
}

void PopefView::draw_blobs(ImVec2 size) {
  ui::table(
      "blobs",
      {{"Offset", 1.2f, true},
       {"Size", 1, true},
       {"Type", 2},
       {"Name", 3},
       {"Payload", 1, true},
       {"Decompressed", 1, true}},
      file_->blobs().size(),
      [&](size_t r, int col) -> std::string {
        const BlobRow& b = file_->blobs()[r];
        const std::string cells[] = {std::to_string(b.offset),
                                     bytes_text(b.size),
                                     b.type,
                                     b.name,
                                     bytes_text(b.payload_bytes),
                                     b.compressed ? bytes_text(b.raw_bytes) : "-"};
        return cells[col];
      },
      [&](size_t r) { return blob_row_ == static_cast<int>(r); },
      [&](size_t r) { blob_row_ = static_cast<int>(r); }, blobs_state_, size);
}

}  // namespace poprt::inspector
