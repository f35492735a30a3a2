// A folder for files that exist during an operation.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.h"

namespace poprt::capi {

// The destructor removes the folder with its contents. Only this user may read it. The constructor
// throws not_found if the folder of TMPDIR does not exist, and permission_denied.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code missing;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(missing);
    if (missing) {
      const char* given = std::getenv("TMPDIR");
      fail(ErrorCode::not_found, "there is no folder '{}' for temporary files (TMPDIR): {}",
           given ? given : "/tmp", missing.message());
    }
    std::string name = (folder / "poprt_XXXXXX").string();
    if (!mkdtemp(name.data()))
      fail(ErrorCode::permission_denied,
           "cannot make a folder in '{}' for temporary files (TMPDIR): {}", folder.string(),
           std::strerror(errno));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace poprt::capi
