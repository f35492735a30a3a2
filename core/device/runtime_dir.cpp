#include "device/runtime_dir.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace poprt::device {

std::filesystem::path runtime_dir(const std::string& wanted) {
  std::filesystem::path path = wanted;
  if (wanted.empty()) {
    const char* base = std::getenv("XDG_RUNTIME_DIR");
    struct stat info;
    if (base && *base == '/' && stat(base, &info) == 0 && S_ISDIR(info.st_mode))
      path = std::filesystem::path(base) / "poprt";
    else
      path = fmt::format("/dev/shm/poprt-{}", getuid());
  } else if (!path.is_absolute()) {
    fail(ErrorCode::invalid_argument, "'{}' is not an absolute path of a folder", wanted);
  }
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    fail(ErrorCode::permission_denied, "cannot make folder '{}': {}", path.string(),
         std::strerror(errno));
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != getuid())
    fail(ErrorCode::permission_denied, "'{}' is not a folder of user {}", path.string(), getuid());
  return std::filesystem::canonical(path);
}

}  // namespace poprt::device
