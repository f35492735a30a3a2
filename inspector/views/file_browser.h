// Choosing a file where the desktop has no dialog for it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace poprt::inspector {

class FileBrowser {
 public:
  // Of models, or with `all` of any kind.
  void open(const std::filesystem::path& folder, bool all = false);
  bool is_open() const { return open_; }
  void close() { open_ = false; }
  // Draws it when it is open; the file that was chosen in this frame.
  std::optional<std::filesystem::path> draw();

 private:
  struct Entry {
    std::string name;
    bool folder = false;
    uint64_t bytes = 0;
  };
  void enter(const std::filesystem::path& folder);

  bool open_ = false, all_ = false;
  std::filesystem::path folder_;
  std::vector<Entry> entries_;
  std::string filter_, error_;
};

}  // namespace poprt::inspector
