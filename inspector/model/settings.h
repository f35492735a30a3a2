// Settings of the user that are stored between sessions.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace poprt::inspector {

struct Settings {
  bool light = false;
  bool horizontal = false;  // graphs from left to right
  int width = 1280, height = 800;
  std::map<std::string, float> panels;  // widths of resizable parts of views
  std::vector<std::string> recent;      // paths, most recent first

  void add_recent(const std::string& path);
};

// $XDG_CONFIG_HOME/poprt/inspector.json, else under $HOME/.config. Empty if neither variable is
// set.
std::filesystem::path settings_path();
// A missing or damaged file gives the defaults.
Settings load_settings(const std::filesystem::path& path);
// Writes the complete file or none. A folder that is not writable is not an error.
void save_settings(const Settings& settings, const std::filesystem::path& path);

}  // namespace poprt::inspector
