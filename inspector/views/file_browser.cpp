#include "views/file_browser.h"

#include <algorithm>

#include "model/format.h"
#include "views/ui.h"

namespace poprt::inspector {
namespace {

bool is_ours(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".onnx" || ending == ".popef" || ending == ".txt" || ending == ".ir" ||
         ending == ".telemetry";
}

}  // namespace

void FileBrowser::open(const std::filesystem::path& folder, bool all) {
  open_ = true;
  all_ = all;
  filter_.clear();
  enter(folder);
}

void FileBrowser::enter(const std::filesystem::path& folder) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(folder, error).lexically_normal();
  std::vector<Entry> found;
  for (std::filesystem::directory_iterator
           it(absolute, std::filesystem::directory_options::skip_permission_denied, error),
       end;
       !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const bool is_folder = it->is_directory(ignored);
    const std::string name = it->path().filename().string();
    if (name.starts_with(".")) continue;
    if (!is_folder && !all_ && !is_ours(it->path())) continue;
    found.push_back({name, is_folder, is_folder ? 0 : it->file_size(ignored)});
  }
  error_ = error ? printable(absolute.string() + ": " + error.message()) : "";
  if (error) return;
  folder_ = absolute;
  std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) {
    return a.folder != b.folder ? a.folder : a.name < b.name;
  });
  entries_ = std::move(found);
}

std::optional<std::filesystem::path> FileBrowser::draw() {
  if (!open_) return std::nullopt;
  std::optional<std::filesystem::path> chosen;
  std::optional<std::filesystem::path> next;
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowSize({std::min(760 * ui::scale(), screen.x * 0.9f),
                            std::min(560 * ui::scale(), screen.y * 0.85f)});
  ImGui::SetNextWindowPos({screen.x / 2, screen.y / 2}, 0, {0.5f, 0.5f});
  bool stays = true;
  ImGui::Begin(
      "Open a file", &stays,
      ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings);
  if (ui::button("Up")) next = folder_.parent_path();
  ImGui::SameLine();
  ui::text(shortened(printable(folder_.string()), 80));
  ui::field("filter##browser", "Filter names", filter_, 300 * ui::scale());
  ImGui::SameLine();
  if (ImGui::Checkbox("All files", &all_)) next = folder_;
  ui::mark("All files");
  if (!error_.empty()) ui::coloured_text(ui::colours().bad, error_);
  ImGui::BeginChild("entries", {0, 0}, true);
  for (const Entry& e : entries_) {
    if (!contains_text(e.name, filter_)) continue;
    const std::string label = printable(e.name) + (e.folder ? "/" : "");
    ImGui::PushID(e.name.c_str());
    if (ImGui::Selectable(label.c_str())) (e.folder ? next : chosen) = folder_ / e.name;
    ui::mark(label);
    if (!e.folder) {
      ImGui::SameLine(ImGui::GetWindowWidth() - 110 * ui::scale());
      ui::dim_text(bytes_text(e.bytes));
    }
    ImGui::PopID();
  }
  if (entries_.empty()) ui::dim_text("No .onnx, .popef, IR text or recordings here");
  ImGui::EndChild();
  ImGui::End();
  if (next) enter(*next);
  if (!stays || ui::pressed(ui::kEscape) || chosen) open_ = false;
  return chosen;
}

}  // namespace poprt::inspector
