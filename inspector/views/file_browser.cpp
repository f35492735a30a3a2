#include "views/file_browser.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "model/format.h"
#include "views/ui.h"

namespace poprt::inspector {
namespace {

constexpr size_t kMostRecentShown = 5;

bool is_ours(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".onnx" || ending == ".popef" || ending == ".txt" || ending == ".ir" ||
         ending == ".telemetry";
}

// Whether the text is the path of a file or folder, and not a part of a name.
bool is_path_text(const std::string& text) {
  return text.starts_with("~") || text.find('/') != std::string::npos;
}

// An absolute path, or one relative to `folder` or to the home folder ("~/").
std::filesystem::path typed_path(const std::filesystem::path& folder, const std::string& text) {
  const char* home = std::getenv("HOME");
  if (home && (text == "~" || text.starts_with("~/")))
    return std::filesystem::path(home) / text.substr(std::min<size_t>(2, text.size()));
  return folder / text;
}

}  // namespace

void FileBrowser::open(const std::filesystem::path& folder, bool all,
                       std::vector<std::string> recent) {
  open_ = true;
  recent_ = std::move(recent);
  if (recent_.size() > kMostRecentShown) recent_.resize(kMostRecentShown);
  all_ = all;
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
    return a.folder != b.folder ? a.folder : natural_less(a.name, b.name);
  });
  entries_ = std::move(found);
  filter_.clear();
  row_ = 0;
  focus_ = true;
}

std::vector<const FileBrowser::Entry*> FileBrowser::shown() const {
  std::vector<const Entry*> entries;
  for (const Entry& e : entries_)
    if (contains_text(e.name, filter_)) entries.push_back(&e);
  return entries;
}

void FileBrowser::take(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    enter(path);
  else
    chosen_ = path;
}

void FileBrowser::draw_recent() {
  ui::dim_text("Recent");
  for (const std::string& path : recent_) {
    ImGui::PushID(path.c_str());
    if (ImGui::Selectable(shortened(printable(path), 84).c_str())) take(path);
    ui::mark("recent " + path);
    ImGui::PopID();
  }
  ImGui::Separator();
}

void FileBrowser::draw_entries(const std::vector<const Entry*>& entries) {
  std::string picked;
  ImGui::BeginChild("entries", {0, 0}, true);
  if (!recent_.empty() && filter_.empty()) draw_recent();
  for (size_t i = 0; i < entries.size(); i++) {
    const Entry& e = *entries[i];
    const std::string label = printable(e.name) + (e.folder ? "/" : "");
    ImGui::PushID(e.name.c_str());
    if (ImGui::Selectable(label.c_str(), i == row_)) picked = e.name;
    ui::mark(label);
    if (!e.folder) {
      ImGui::SameLine(ImGui::GetWindowWidth() - 110 * ui::scale());
      ui::dim_text(bytes_text(e.bytes));
    }
    ImGui::PopID();
  }
  if (entries_.empty())
    ui::dim_text("No .onnx, .popef, IR text or recordings here");
  else if (is_path_text(filter_))
    ui::dim_text("Enter opens this path");
  else if (entries.empty())
    ui::dim_text("No name contains this text");
  ImGui::EndChild();
  if (!picked.empty()) take(folder_ / picked);
}

std::optional<std::filesystem::path> FileBrowser::draw() {
  if (!open_) return std::nullopt;
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowSize({std::min(760 * ui::scale(), screen.x * 0.9f),
                            std::min(560 * ui::scale(), screen.y * 0.85f)});
  ImGui::SetNextWindowPos({screen.x / 2, screen.y / 2}, 0, {0.5f, 0.5f});
  bool stays = true;
  ImGui::Begin(
      "Open a file", &stays,
      ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings);
  if (ui::button("Up")) enter(folder_.parent_path());
  ImGui::SameLine();
  ui::text(shortened(printable(folder_.string()), 80));
  if (std::exchange(focus_, false)) ImGui::SetKeyboardFocusHere();
  if (ui::field("filter##browser", "Part of a name, or a path; Enter opens", filter_,
                std::min(420 * ui::scale(), ImGui::GetContentRegionAvail().x * 0.7f)))
    row_ = 0, error_.clear();
  ImGui::SameLine();
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 1);
  ImGui::PushStyleColor(ImGuiCol_Border, ui::colours().dim);
  if (ImGui::Checkbox("All files", &all_)) enter(folder_);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
  ui::mark("All files");
  if (!error_.empty()) ui::coloured_text(ui::colours().bad, error_);
  const auto entries = shown();
  if (ui::pressed(ui::kDown)) row_++;
  if (ui::pressed(ui::kUp) && row_ > 0) row_--;
  row_ = entries.empty() ? 0 : std::min(row_, entries.size() - 1);
  const bool entered = ui::pressed(ui::kEnter);
  std::error_code ignored;
  const std::filesystem::path path = typed_path(folder_, filter_);
  const bool is_path = !filter_.empty() && std::filesystem::exists(path, ignored);
  if (entered && is_path)
    take(path);
  else if (entered && is_path_text(filter_))
    error_ = printable(path.lexically_normal().string()) + " does not exist";
  else if (entered && !entries.empty())
    take(folder_ / entries[row_]->name);
  else
    draw_entries(entries);
  ImGui::End();
  if (!stays || ui::pressed(ui::kEscape) || chosen_) open_ = false;
  return std::exchange(chosen_, std::nullopt);
}

}  // namespace poprt::inspector
