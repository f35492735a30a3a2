// A run that was submitted and will be done.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "base/error.h"
#include "runtime/waiter.h"

namespace poprt::runtime {

// Called once on the runner's thread. Must not block and must not wait for another request.
struct RequestCallback {
  void (*call)(void* context, ErrorCode code) noexcept = nullptr;
  void* context = nullptr;
};

// Shared by the submitter and the runner; any thread may use it.
class Request {
 public:
  explicit Request(RequestCallback callback = {}) : callback_(callback) {}

  bool done() const noexcept { return state_.load(std::memory_order_acquire) != kPending; }
  // False when it is not done after `timeout`; without one waits for ever.
  bool wait(std::optional<std::chrono::nanoseconds> timeout = std::nullopt) noexcept;
  // Throws what the run failed with; only after done().
  void check() const;

  // For the runner: publishes the result, wakes waiters, calls the callback.
  void complete(ErrorCode code) noexcept;

 private:
  static constexpr int kPending = -1;
  std::atomic<int> state_{kPending};  // then the ErrorCode; complete() pairs with done()
  RequestCallback callback_;
  Waiter waiter_;
};

}  // namespace poprt::runtime
