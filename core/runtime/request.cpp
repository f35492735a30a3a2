#include "runtime/request.h"

namespace poprt::runtime {

bool Request::wait(std::optional<std::chrono::nanoseconds> timeout) noexcept {
  std::optional<Waiter::Clock::time_point> deadline;
  if (timeout) {
    const auto now = Waiter::Clock::now();
    // A timeout past the clock's end is no timeout.
    if (*timeout < Waiter::Clock::time_point::max() - now) deadline = now + *timeout;
  }
  return waiter_.wait([this] { return done(); }, deadline);
}

void Request::check() const {
  const auto code = static_cast<ErrorCode>(state_.load(std::memory_order_acquire));
  if (code == ErrorCode::ok) return;
  fail(code, "the request was not run: the runner was stopped");
}

void Request::complete(ErrorCode code) noexcept {
  state_.store(static_cast<int>(code), std::memory_order_release);
  waiter_.notify();
  if (callback_.call) callback_.call(callback_.context, code);
}

}  // namespace poprt::runtime
