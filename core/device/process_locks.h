// Records which process has which device.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

namespace poprt::device {

// Each byte of a file is one device, and a lock of the byte belongs to a process. The kernel
// releases the lock when the process ends for any reason, and forked children do not inherit it.
// The file is never closed, because closing any of its descriptors would release the locks. There
// must be only one object for a file in a process. Thread-safe.
class ProcessLocks {
 public:
  // Throws permission_denied.
  explicit ProcessLocks(const std::filesystem::path& file);
  ProcessLocks(const ProcessLocks&) = delete;
  ProcessLocks& operator=(const ProcessLocks&) = delete;

  // Returns false if another process has the lock. A process may lock a device repeatedly.
  bool try_lock(int64_t id) noexcept;
  void unlock(int64_t id) noexcept;
  // The process that has the lock; 0 if it is free or this process has it.
  pid_t owner(int64_t id) const noexcept;

 private:
  int fd_;
};

}  // namespace poprt::device
