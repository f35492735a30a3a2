// A folder for files that exist during an operation.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.h"

namespace poprt::capi {

// The destructor removes the folder with its contents. Only this user may read it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "poprt_XXXXXX").string();
    if (!mkdtemp(name.data()))
      fail(ErrorCode::permission_denied, "cannot make a folder in '{}': {}",
           std::filesystem::temp_directory_path().string(), std::strerror(errno));
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
