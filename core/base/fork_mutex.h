// A mutex that a forked child can take over from a thread that it does not have.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace poprt {

// The process of the caller, without a system call.
pid_t this_process() noexcept;

// Like std::mutex, with one difference: if a process forks while another thread holds the mutex,
// the child has no thread that would unlock it. The child then takes it over, and abandoned() is
// true from then on, because the holder may have been in the middle of a change. So lock() never
// waits for a thread that does not exist, and a reader of the guarded data can refuse to use it.
class ForkMutex {
 public:
  void lock() noexcept;
  bool try_lock() noexcept;
  void unlock() noexcept;
  // Whether a child has taken over the mutex. Requires the lock.
  bool abandoned() const noexcept { return abandoned_; }

 private:
  // The process that holds the mutex, times 4, and a state. Both change together, so a child knows
  // without doubt that a holder belongs to its parent.
  std::atomic<uint64_t> word_{0};
  bool abandoned_ = false;
};

}  // namespace poprt
