// The folder that outputs go to.
#pragma once

#include <filesystem>
#include <vector>

namespace poprt::cli {

// Makes a folder and those that it lies in. Unless keep() is called, those that were new and stayed
// empty are removed again.
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
