#include "device/process_locks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace poprt::device {
namespace {

struct flock region(short type, int64_t id) {
  struct flock r{};
  r.l_type = type;
  r.l_whence = SEEK_SET;
  r.l_start = id;
  r.l_len = 1;
  return r;
}

}  // namespace

ProcessLocks::ProcessLocks(const std::filesystem::path& file)
    : fd_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  if (fd_ < 0)
    fail(ErrorCode::permission_denied, "cannot open device locks '{}': {}", file.string(),
         std::strerror(errno));
}

bool ProcessLocks::try_lock(int64_t id) noexcept {
  struct flock r = region(F_WRLCK, id);
  return fcntl(fd_, F_SETLK, &r) == 0;
}

void ProcessLocks::unlock(int64_t id) noexcept {
  struct flock r = region(F_UNLCK, id);
  fcntl(fd_, F_SETLK, &r);
}

pid_t ProcessLocks::owner(int64_t id) const noexcept {
  struct flock r = region(F_WRLCK, id);
  return fcntl(fd_, F_GETLK, &r) == 0 && r.l_type != F_UNLCK ? r.l_pid : 0;
}

}  // namespace poprt::device
