// A run that was submitted and will be done.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "runtime/queue/clock.h"
#include "runtime/queue/waiter.h"
#include "runtime/telemetry/statistics.h"

namespace poprt::runtime {

class Request;

// Called once: on a thread of the runner, or on the thread that cancels the request or finds that
// its time is over. Must not block and must not wait for another request.
struct RequestCallback {
  void (*call)(void* context, ErrorCode code) noexcept = nullptr;
  void* context = nullptr;
  // Other forms of it, one of the three: as the C ABI spells it, and with the request.
  void (*c_call)(int32_t code, void* context) = nullptr;
  void (*full)(void* context, const Request& request) noexcept = nullptr;
  // Of a request that succeeds: called before anybody sees that it is done.
  void (*before)(void* context) noexcept = nullptr;

  explicit operator bool() const noexcept { return call || c_call || full; }
  void operator()(ErrorCode code, const Request& request) const noexcept {
    if (call) call(context, code);
    if (c_call) c_call(static_cast<int32_t>(code), context);
    if (full) full(context, request);
  }
};

// What a submission does when as many requests are in flight as the queue has places.
enum class WhenFull : uint8_t {
  wait,  // until there is a place
  fail,  // with unavailable
  line,  // the request stands in a line, which has no limit; the call never waits
};

struct RequestOptions {
  // Counts from the call. Fails with deadline_exceeded when it has not begun by then. A run that
  // has begun is not interrupted.
  std::optional<std::chrono::nanoseconds> timeout;
  WhenFull when_full = WhenFull::wait;
  // Which replica it is for, so that it meets the state that earlier requests have left there; -1:
  // any. Throws not_found.
  int64_t replica = -1;
  // Of whole batches: a step does not wait for others. Whoever submits it waits for the answer.
  bool at_once = false;
};

// `timeout` after `start`; TimePoint::max() is never.
Clock::TimePoint deadline_after(Clock::TimePoint start,
                                std::optional<std::chrono::nanoseconds> timeout) noexcept;

[[noreturn]] void fail_stopped_runner();
// What requests fail with that waited when the runner was stopped.
const std::shared_ptr<const Error>& stopped_failure();

// What all requests that one device error hits share.
using Failure = std::shared_ptr<const Error>;

class RequestPool;

// Shared by the submitter and the runner; any thread may use it. Comes from a pool and goes back to
// it, so that submitting allocates nothing.
class Request {
 public:
  bool done() const noexcept { return state_.load(std::memory_order_acquire) >= 0; }
  // False when it is not done after `timeout`; without one waits for ever.
  bool wait(std::optional<std::chrono::nanoseconds> timeout = std::nullopt) noexcept;
  // Throws what the run failed with; only after done().
  void check() const;
  // What it failed with, null when it has not; only after done().
  Failure failure() const;
  // Only after done().
  ErrorCode code() const noexcept {
    return static_cast<ErrorCode>(state_.load(std::memory_order_acquire));
  }
  // True: it has failed with cancelled, and its memory is not used any more. False: it has begun or
  // is done.
  bool cancel() noexcept;

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  // From here on for runners.
  static constexpr int kQueued = -1, kRunning = -2, kAnswering = -3;

  // Neither begun nor answered.
  bool queued() const noexcept { return state_.load(std::memory_order_acquire) == kQueued; }
  // After claim() was false: whoever answers the request is about to have done so.
  void wait_for_answer() const noexcept {
    while (!done()) std::this_thread::yield();
  }

  // A request cannot be cancelled any more after claim(); false: it is done already.
  bool claim() noexcept {
    int expected = kQueued;
    return state_.compare_exchange_strong(expected, kRunning, std::memory_order_acq_rel);
  }
  // Whoever has claimed it publishes the result: wakes waiters, then calls the callback.
  void complete(ErrorCode code, Failure failure = nullptr) noexcept;
  // Fails it with deadline_exceeded if it is still queued and late.
  bool expire(Clock::TimePoint now) noexcept;
  // Somebody waits for the result, or will be called.
  bool watched() const noexcept {
    return static_cast<bool>(callback_) || watchers_.load(std::memory_order_seq_cst) > 0;
  }
  bool has_deadline() const noexcept { return deadline_ != Clock::TimePoint::max(); }
  Clock::TimePoint deadline() const noexcept { return deadline_; }

  // Of the runner that serves it.
  std::unique_ptr<const void*[]> inputs;
  std::unique_ptr<void*[]> outputs;
  uint64_t rows = 0, taken = 0, stored = 0;
  bool at_once = false;
  Failure failed;  // of a step, until the request is done
  uint64_t sequence = 0;
  Clock::TimePoint submitted;
  Tracepoint trace;

 private:
  friend class RequestPool;
  explicit Request(RequestPool& pool) : pool_(pool) {}
  bool finish_queued(ErrorCode code) noexcept;
  void announce(ErrorCode code) noexcept;

  RequestPool& pool_;
  Request* next_ = nullptr;  // in the pool
  std::atomic<uint32_t> references_{0};
  std::atomic<uint32_t> watchers_{0};
  std::atomic<int> state_{kQueued};  // then the ErrorCode; its store pairs with done()
  Clock::TimePoint deadline_ = Clock::TimePoint::max();
  RequestCallback callback_;
  Failure failure_;
  Waiter waiter_;
};

// An owning pointer to a request.
class RequestPtr {
 public:
  RequestPtr() = default;
  explicit RequestPtr(Request* adopted) : request_(adopted) {}
  RequestPtr(const RequestPtr& o) : request_(o.request_) {
    if (request_) request_->retain();
  }
  RequestPtr(RequestPtr&& o) noexcept : request_(std::exchange(o.request_, nullptr)) {}
  RequestPtr& operator=(RequestPtr o) noexcept {
    std::swap(request_, o.request_);
    return *this;
  }
  ~RequestPtr() {
    if (request_) request_->release();
  }
  Request* operator->() const noexcept { return request_; }
  Request& operator*() const noexcept { return *request_; }
  explicit operator bool() const noexcept { return request_ != nullptr; }
  Request* get() const noexcept { return request_; }
  Request* detach() noexcept { return std::exchange(request_, nullptr); }

 private:
  Request* request_ = nullptr;
};

// Where requests come from. Lives until its owner has closed it and the last request is released.
class RequestPool {
 public:
  struct Close {
    void operator()(RequestPool* pool) const noexcept { pool->close(); }
  };
  using Owner = std::unique_ptr<RequestPool, Close>;
  static Owner make(size_t inputs, size_t outputs, Clock clock = {}) {
    return Owner(new RequestPool(inputs, outputs, clock));
  }

  // One thread at a time. With `references` references.
  Request* take(uint32_t references, RequestCallback callback, Clock::TimePoint submitted,
                Clock::TimePoint deadline);

  // The runner waits here: for requests, and for wakeups() to change.
  Waiter arrived;
  uint64_t wakeups() const noexcept { return wakeups_.load(std::memory_order_acquire); }
  // Something that the runner looks at has changed.
  void wake() noexcept {
    wakeups_.fetch_add(1, std::memory_order_acq_rel);
    arrived.notify();
  }
  const Clock clock;
  // Set before the first request.
  bool wake_on_watch = false;
  // Told of a request that is cancelled or late while it waits, before anybody sees the answer.
  struct {
    void (*call)(void* context, ErrorCode code) noexcept = nullptr;
    void* context = nullptr;
  } on_answered;

 private:
  friend class Request;
  RequestPool(size_t inputs, size_t outputs, Clock c)
      : clock(c), inputs_(inputs), outputs_(outputs) {}
  ~RequestPool() = default;
  void give_back(Request* request) noexcept;
  void close() noexcept;
  void drop_object() noexcept;

  const size_t inputs_, outputs_;
  // A stack that any thread pushes to and one at a time pops from; kClosed when there is no owner.
  std::atomic<Request*> head_{nullptr};
  std::atomic<int64_t> objects_{1};  // requests that exist, and the owner
  std::atomic<uint64_t> wakeups_{0};
};

}  // namespace poprt::runtime
