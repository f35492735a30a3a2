#include "runtime/queue/waiter.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

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
  syscall(SYS_futex, &epoch_, FUTEX_WAIT_PRIVATE, epoch, deadline ? &limit : nullptr, nullptr, 0);
  return true;
}

void Waiter::wake() noexcept {
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace poprt::runtime
