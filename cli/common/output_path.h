// Finds where a file that replaces another one must be written.
#pragma once

#include <filesystem>

namespace poprt::cli {

// Follows symbolic links as open() does, even if the target does not exist, so that replacing the
// target keeps the link. Cyclic links are returned, so that the later open() reports them.
inline std::filesystem::path resolve_links(std::filesystem::path path) {
  constexpr int kMost = 40;  // the limit of the system
  std::error_code error;
  for (int i = 0; i < kMost && std::filesystem::is_symlink(path, error); i++) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;  // an absolute target replaces the path
  }
  return path;
}

}  // namespace poprt::cli
