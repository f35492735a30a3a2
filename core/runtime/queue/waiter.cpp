#include "runtime/queue/waiter.h"

#include "base/futex.h"

namespace poprt::runtime {

bool Waiter::sleep(uint32_t epoch, std::optional<Clock::time_point> deadline) noexcept {
  timespec limit{};
  if (deadline) {
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(*deadline - Clock::now()).count();
    if (left <= 0) return false;
    limit.tv_sec = left / 1'000'000'000;
    limit.tv_nsec = left % 1'000'000'000;
  }
  futex_wait(epoch_, epoch, deadline ? &limit : nullptr);
  return true;
}

void Waiter::wake() noexcept {
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  futex_wake(epoch_);
}

}  // namespace poprt::runtime
