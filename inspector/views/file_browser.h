// A dialog for choosing a file, for desktops without one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace poprt::inspector {

class FileBrowser {
 public:
  // Shows models, or with `all` files of any kind. The files in `recent` are listed first.
  void open(const std::filesystem::path& folder, bool all = false,
            std::vector<std::string> recent = {});
  bool is_open() const { return open_; }
  void close() { open_ = false; }
  // The folder that was shown last. Empty before the first use.
  const std::filesystem::path& folder() const { return folder_; }
  // Draws the dialog if it is open. Returns the file that was chosen in this frame.
  std::optional<std::filesystem::path> draw();

 private:
  struct Entry {
    std::string name;
    bool folder = false;
    uint64_t bytes = 0;
  };
  void enter(const std::filesystem::path& folder);
  std::vector<const Entry*> shown() const;
  void draw_recent();
  void draw_entries(const std::vector<const Entry*>& entries);
  void take(const std::filesystem::path& path);

  bool open_ = false, all_ = false;
  std::filesystem::path folder_;
  std::vector<Entry> entries_;
  std::vector<std::string> recent_;
  std::string filter_, error_;
  size_t row_ = 0;  // the row that Enter selects
  bool focus_ = false;
  std::optional<std::filesystem::path> chosen_;
};

}  // namespace poprt::inspector
