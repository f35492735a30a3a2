// A folder that the destructor removes with its contents. Signals that end the command remove it,
// too (interrupt.h).
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "common/abi.h"
#include "common/interrupt.h"

namespace poprt::cli {

class TemporaryFolder {
 public:
  TemporaryFolder() : TemporaryFolder(system_folder(), " for temporary files (TMPDIR)") {}
  // Makes the folder in another one, for files that are renamed to their places there.
  explicit TemporaryFolder(const std::filesystem::path& folder, const char* purpose = "") {
    std::string name = (folder / "poprt_XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw Failure(fmt::format("cannot make a folder in '{}'{}: {}", folder.string(), purpose,
                                std::strerror(errno)));
    path_ = name;
    removed_.emplace(name);
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  static std::filesystem::path system_folder() {
    std::error_code missing;
    std::filesystem::path folder = std::filesystem::temp_directory_path(missing);
    if (!missing) return folder;
    const char* given = std::getenv("TMPDIR");
    throw Failure(fmt::format("there is no folder '{}' for temporary files (TMPDIR): {}",
                              given ? given : "/tmp", missing.message()));
  }
  std::filesystem::path path_;
  std::optional<RemovedWithUs> removed_;
};

}  // namespace poprt::cli
