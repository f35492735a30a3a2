// The system calls by which threads sleep until a number changes. They are used instead of wait()
// of std::atomic, which yields the processor for a while before it sleeps: a thread that yields
// would see a change before the threads that have slept longer.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace poprt {

// Sleeps while `word` is `expected`, until a wake, a signal or the end of `limit`, a duration.
inline void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected,
                       const timespec* limit = nullptr) noexcept {
  static_assert(sizeof word == sizeof expected);
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, limit, nullptr, 0);
}

// Wakes up to `count` threads of this process, in the order in which they began to sleep.
inline void futex_wake(const std::atomic<uint32_t>& word, int count = INT_MAX) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace poprt
