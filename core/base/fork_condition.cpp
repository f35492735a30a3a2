#include "base/fork_condition.h"

#include "base/futex.h"

namespace poprt {

// The number is read with the lock: a notification that follows a later change of the guarded data
// changes the number, which ends the sleep.
void ForkCondition::wait(Lock& lock) noexcept {
  const uint32_t seen = epoch_.load(std::memory_order_relaxed);
  sleepers_.fetch_add(1, std::memory_order_relaxed);
  lock.unlock();
  futex_wait(epoch_, seen);
  lock.lock();
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void ForkCondition::wait_until(Lock& lock, Clock::time_point deadline) noexcept {
  const auto left =
      std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
  if (left <= 0) return;
  const timespec limit{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  const uint32_t seen = epoch_.load(std::memory_order_relaxed);
  sleepers_.fetch_add(1, std::memory_order_relaxed);
  lock.unlock();
  futex_wait(epoch_, seen, &limit);
  lock.lock();
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void ForkCondition::notify_all() noexcept {
  if (sleepers_.load(std::memory_order_relaxed) == 0) return;
  epoch_.fetch_add(1, std::memory_order_relaxed);
  futex_wake(epoch_);
}

}  // namespace poprt
