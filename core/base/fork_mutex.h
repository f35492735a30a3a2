// A mutex that is fair to threads that wait long, and that a forked child can take over from a
// thread that it does not have.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace poprt {

// The id of this process. Makes a system call only until the library is initialized, or always if
// no handler of forks could be registered.
pid_t this_process() noexcept;

// Like std::mutex, with two differences.
//
// A thread that unlocks the mutex and locks it again at once usually gets it, although others wait:
// that costs no switch of threads. After a millisecond of this, unlock() reserves the mutex for a
// thread that waits. So a thread waits at most about a millisecond, or one critical section if that
// is longer, for each thread that waits before it.
//
// If a process forks while another thread holds the mutex, the child has no thread that would
// unlock it. lock() in the child then takes it over (try_lock() returns false), and abandoned() is
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
  // From the highest bits: the process that used the mutex last, the number of its threads that
  // wait, whether one of them was woken, and the state. All change together, so a child knows that
  // a holder and the waiting threads belong to its parent.
  std::atomic<uint64_t> word_{0};
  std::atomic<uint32_t> wakes_{0};         // increased for each thread that is woken
  std::atomic<int64_t> waiting_since_{0};  // when threads began to wait, or the last reservation
  bool abandoned_ = false;
};

}  // namespace poprt
