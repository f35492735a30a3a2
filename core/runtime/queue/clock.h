// The clock of timeouts: the steady clock, or a manual one in tests.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/queue/waiter.h"

namespace poprt::runtime {

// A clock whose time changes only by advance(). Thread-safe; must outlive its users.
class ManualClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  TimePoint now() const noexcept { return TimePoint(TimePoint::duration(ticks_.load())); }
  void advance(std::chrono::nanoseconds by) {
    ticks_.fetch_add(std::chrono::duration_cast<TimePoint::duration>(by).count());
    const std::lock_guard lock(mutex_);
    for (Waiter* w : waiters_) w->notify();
  }
  // The number of threads that wait for a point in time.
  int waiting() const noexcept { return timed_.load(); }

 private:
  friend class Clock;
  void enter(Waiter* waiter, bool timed) {
    const std::lock_guard lock(mutex_);
    waiters_.push_back(waiter);
    if (timed) timed_++;
  }
  void leave(Waiter* waiter, bool timed) {
    const std::lock_guard lock(mutex_);
    waiters_.erase(std::find(waiters_.begin(), waiters_.end(), waiter));
    if (timed) timed_--;
  }

  std::atomic<TimePoint::rep> ticks_{1};
  std::atomic<int> timed_{0};
  std::mutex mutex_;
  std::vector<Waiter*> waiters_;
};

class Clock {
 public:
  using TimePoint = ManualClock::TimePoint;

  Clock() = default;
  explicit Clock(ManualClock& manual) : manual_(&manual) {}

  bool manual() const noexcept { return manual_ != nullptr; }
  TimePoint now() const noexcept {
    return manual_ ? manual_->now() : std::chrono::steady_clock::now();
  }
  // Waiter::wait() with a deadline of this clock.
  template <class Ready>
  bool wait(Waiter& waiter, Ready&& ready, std::optional<TimePoint> deadline) const {
    if (!manual_) return waiter.wait(ready, deadline);
    manual_->enter(&waiter, deadline.has_value());
    bool result = false;
    waiter.wait([&] {
      result = ready();
      return result || (deadline && manual_->now() >= *deadline);
    });
    manual_->leave(&waiter, deadline.has_value());
    return result || ready();
  }

 private:
  ManualClock* manual_ = nullptr;
};

}  // namespace poprt::runtime
