// What is kept per user from one start to the next.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace poprt::inspector {

struct Settings {
  bool light = false;
  int width = 1280, height = 800;
  std::map<std::string, float> panels;  // widths of parts of views, as the user dragged them
  std::vector<std::string> recent;      // paths, the last first

  void add_recent(const std::string& path);
};

// $XDG_CONFIG_HOME/poprt/inspector.json, else under $HOME/.config; empty when neither is there.
std::filesystem::path settings_path();
// A missing or broken file gives the defaults.
Settings load_settings(const std::filesystem::path& path);
// Whole or not at all; a folder that cannot be written is no error.
void save_settings(const Settings& settings, const std::filesystem::path& path);

}  // namespace poprt::inspector
