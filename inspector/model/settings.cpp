#include "model/settings.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace poprt::inspector {
namespace {

constexpr size_t kMostRecent = 12;
constexpr int kLeastSize = 320, kMostSize = 16384;

}  // namespace

void Settings::add_recent(const std::string& path) {
  std::erase(recent, path);
  recent.insert(recent.begin(), path);
  if (recent.size() > kMostRecent) recent.resize(kMostRecent);
}

std::filesystem::path settings_path() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config && *config) return std::filesystem::path(config) / "poprt" / "inspector.json";
  if (home && *home) return std::filesystem::path(home) / ".config" / "poprt" / "inspector.json";
  return {};
}

Settings load_settings(const std::filesystem::path& path) {
  Settings s;
  std::ifstream file(path);
  const auto json = try_parse_json(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!json.is_object()) return s;
  try {
    s.light = json.value("light", s.light);
    s.horizontal = json.value("horizontal", s.horizontal);
    s.width = std::clamp(json.value("width", s.width), kLeastSize, kMostSize);
    s.height = std::clamp(json.value("height", s.height), kLeastSize, kMostSize);
    s.recent = json.value("recent", s.recent);
    s.panels = json.value("panels", s.panels);
    if (s.recent.size() > kMostRecent) s.recent.resize(kMostRecent);
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  return s;
}

void save_settings(const Settings& s, const std::filesystem::path& path) {
  if (path.empty()) return;
  try {
    std::filesystem::create_directories(path.parent_path());
    const std::string text = json_text(nlohmann::json({{"light", s.light},
                                                       {"horizontal", s.horizontal},
                                                       {"width", s.width},
                                                       {"height", s.height},
                                                       {"recent", s.recent},
                                                       {"panels", s.panels}}),
                                       2) +
                             "\n";
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(text.data(), text.size())));
    file.commit();
  } catch (const std::exception&) {  // errors are ignored, because settings are optional
  }
}

}  // namespace poprt::inspector
