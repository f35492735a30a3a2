// Blocking for lock-free structures. It spins briefly and then sleeps, so an idle process uses no
// CPU.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/pause.h"

namespace poprt::runtime {

// A thread that changes the state that others wait for calls notify() afterwards; if no thread
// sleeps, that costs a few nanoseconds. Both sides may have any number of threads.
class Waiter {
 public:
  using Clock = std::chrono::steady_clock;

  // Returns true when `ready()` is true, or false when the deadline passes first. Without a
  // deadline it waits without limit. `ready` must read state that is published before notify().
  template <class Ready>
  bool wait(Ready&& ready, std::optional<Clock::time_point> deadline = std::nullopt) noexcept {
    for (int i = 0; i < kSpins; i++) {
      if (ready()) return true;
      spin_pause();
    }
    // This and notify() both do a read-modify-write on sleepers_. The second one sees the writes of
    // the first, so either this thread sees the new state or notify() sees this thread.
    sleepers_.fetch_add(1, std::memory_order_acq_rel);
    bool result;
    for (;;) {
      const uint32_t epoch = epoch_.load(std::memory_order_acquire);
      result = ready();
      if (result || !sleep(epoch, deadline)) break;
    }
    sleepers_.fetch_sub(1, std::memory_order_acq_rel);
    return result || ready();
  }

  void notify() noexcept {
    if (sleepers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    wake();
  }

 private:
  static constexpr int kSpins = 200;  // about 5 microseconds

  // Returns false if the deadline has passed.
  bool sleep(uint32_t epoch, std::optional<Clock::time_point> deadline) noexcept;
  void wake() noexcept;

  std::atomic<uint32_t> epoch_{0};  // the futex
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace poprt::runtime
