// A condition variable for ForkMutex that a forked child can use.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "base/fork_mutex.h"

namespace poprt {

// Like std::condition_variable_any for ForkMutex. A process may fork while threads wait. In the
// child, which does not have these threads, all functions and the destructor return; those of
// std::condition_variable may wait until the threads have left.
class ForkCondition {
 public:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<ForkMutex>;

  // Releases the lock while it sleeps. May return without a notification.
  void wait(Lock& lock) noexcept;
  // The same until the deadline at most.
  void wait_until(Lock& lock, Clock::time_point deadline) noexcept;

  // Waits until `ready()` is true, which is called with the lock.
  template <class Ready>
  void wait(Lock& lock, Ready&& ready) {
    while (!ready()) wait(lock);
  }
  // Returns `ready()`, which may be false when the deadline has passed.
  template <class Ready>
  bool wait_until(Lock& lock, Clock::time_point deadline, Ready&& ready) {
    while (!ready()) {
      if (Clock::now() >= deadline) return false;
      wait_until(lock, deadline);
    }
    return true;
  }

  // Wakes all threads that wait. The caller has changed the guarded data with the lock; it need not
  // have the lock any more.
  void notify_all() noexcept;

 private:
  std::atomic<uint32_t> epoch_{0};  // the futex
  // The number of waiting threads, changed with the lock. In a child it may be too high, which
  // costs a system call.
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace poprt
