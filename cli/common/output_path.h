// Where a file goes that takes the place of another.
#pragma once

#include <filesystem>

namespace poprt::cli {

// What a link names, as open() finds it, whether that is there or not: a link stays a link when the
// file behind it is replaced. Links that go round are left to the one who opens them.
inline std::filesystem::path resolve_links(std::filesystem::path path) {
  constexpr int kMost = 40;  // as many as the system follows
  std::error_code error;
  for (int i = 0; i < kMost && std::filesystem::is_symlink(path, error); i++) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;  // an absolute one as it is
  }
  return path;
}

}  // namespace poprt::cli
