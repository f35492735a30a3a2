// Blocking for lock-free structures: spins briefly, then sleeps, so that an idle process uses no
// CPU.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/pause.h"

namespace poprt::runtime {

// Whoever changes the state that others wait for calls notify() afterwards; that costs a few
// nanoseconds when nobody sleeps. Any number of threads on both sides.
class Waiter {
 public:
  using Clock = std::chrono::steady_clock;

  // Returns when `ready()` holds (true) or the deadline passed first (false). No deadline: waits
  // for ever. `ready` reads state that is published before notify().
  template <class Ready>
  bool wait(Ready&& ready, std::optional<Clock::time_point> deadline = std::nullopt) noexcept {
    for (int i = 0; i < kSpins; i++) {
      if (ready()) return true;
      spin_pause();
    }
    // Both this and notify() do a read-modify-write on sleepers_: whichever comes second sees what
    // the other did before, so either we see the new state or notify() sees us.
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
  static constexpr int kSpins = 200;  // some 5 microseconds

  // False when the deadline has passed.
  bool sleep(uint32_t epoch, std::optional<Clock::time_point> deadline) noexcept;
  void wake() noexcept;

  std::atomic<uint32_t> epoch_{0};  // the futex
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace poprt::runtime
