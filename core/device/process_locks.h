// Which process has which device.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

namespace poprt::device {

// One byte of a file is one device, and its lock belongs to a process: the kernel drops it when the
// process ends, however it ends, and forked children do not have it. The file is never closed,
// because closing any descriptor of it would drop the locks. One object per file and process.
// Thread-safe.
class ProcessLocks {
 public:
  // Throws permission_denied.
  explicit ProcessLocks(const std::filesystem::path& file);
  ProcessLocks(const ProcessLocks&) = delete;
  ProcessLocks& operator=(const ProcessLocks&) = delete;

  // False when another process has it. A process may take what it has again.
  bool try_lock(int64_t id) noexcept;
  void unlock(int64_t id) noexcept;
  // The process that has it; 0: none, or this one.
  pid_t owner(int64_t id) const noexcept;

 private:
  int fd_;
};

}  // namespace poprt::device
