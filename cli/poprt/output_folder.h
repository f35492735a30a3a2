// Creates the output folder.
#pragma once

#include <filesystem>
#include <vector>

namespace poprt::cli {

// Creates a folder and its parents. Unless keep() is called, the destructor removes the created
// folders that are empty.
class MadeFolder {
 public:
  explicit MadeFolder(const std::filesystem::path& path);
  ~MadeFolder();
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;
  void keep() { made_.clear(); }

 private:
  std::vector<std::filesystem::path> made_;  // the innermost first
};

}  // namespace poprt::cli
