// A request: a run that was submitted and will be answered.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runtime/queue/clock.h"
#include "runtime/queue/waiter.h"
#include "runtime/session/tensor_memory.h"
#include "runtime/telemetry/statistics.h"

namespace poprt::runtime {

class Request;

// Called once, on a thread of the runner, or on the thread that cancels the request, stops the
// runner or finds that the deadline of the request has passed. Must not block and must not wait for
// another request.
struct RequestCallback {
  void (*call)(void* context, ErrorCode code) noexcept = nullptr;
  void* context = nullptr;
  // Other forms of `call`: the form of the C ABI, and one with the request as a parameter. At most
  // one of the three is set.
  void (*c_call)(int32_t code, void* context) = nullptr;
  void (*full)(void* context, const Request& request) noexcept = nullptr;
  // Called for a successful request before any thread can see that it is done.
  void (*before)(void* context) noexcept = nullptr;
  void call_before() const noexcept {
    if (before) before(context);
  }

  explicit operator bool() const noexcept { return call || c_call || full; }
  void operator()(ErrorCode code, const Request& request) const noexcept {
    if (call) call(context, code);
    if (c_call) c_call(static_cast<int32_t>(code), context);
    if (full) full(context, request);
  }
};

// The behaviour of a submission when the queue has no free place.
enum class WhenFull : uint8_t {
  wait,  // wait for a place
  fail,  // fail with unavailable
  line,  // append the request to a line without limit; the call never waits
};

struct RequestOptions {
  // The time from the submission within which the request must begin; otherwise it fails with
  // deadline_exceeded. A run that has begun is not interrupted. nullopt: without limit.
  std::optional<std::chrono::nanoseconds> timeout;
  WhenFull when_full = WhenFull::wait;
  // The replica that must execute it, for example because earlier requests have left state there;
  // -1: any. The submission throws not_found if there is no such replica.
  int64_t replica = -1;
  // Whether the request runs without waiting for other requests that complete its step. It has an
  // effect only for whole batches. execute() sets it, because its caller waits for the answer.
  bool at_once = false;
};

// `timeout` after `start`; TimePoint::max() if there is no timeout.
Clock::TimePoint deadline_after(Clock::TimePoint start,
                                std::optional<std::chrono::nanoseconds> timeout) noexcept;

[[noreturn]] void fail_stopped_runner();
// The error of requests that wait when the runner is stopped.
const std::shared_ptr<const Error>& stopped_failure();

// All requests that fail because of one device error share the object.
using Failure = std::shared_ptr<const Error>;

class RequestPool;

// Shared by the submitter and the runner. Thread-safe. Requests come from a pool and return to it,
// so a request is allocated only if the pool is empty.
class Request {
 public:
  bool done() const noexcept { return state_.load(std::memory_order_acquire) >= 0; }
  // Returns false if the request is not done after `timeout`. Without a timeout, it waits without
  // limit. In a forked child, a request of the parent that is not done fails with
  // failed_precondition.
  bool wait(std::optional<std::chrono::nanoseconds> timeout = std::nullopt) noexcept;
  // Throws the error of the run. Only after done().
  void check() const;
  // The error of the run, or null. Only after done().
  Failure failure() const;
  // Only after done().
  ErrorCode code() const noexcept {
    return static_cast<ErrorCode>(state_.load(std::memory_order_acquire));
  }
  // Returns true if the request now has failed with cancelled; its memory is then not used any
  // more. Returns false if it has begun or is done.
  bool cancel() noexcept;

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  // The following functions are for runners.
  static constexpr int kQueued = -1, kRunning = -2, kAnswering = -3, kAbandoning = -4;

  // Whether it has neither begun nor been answered.
  bool queued() const noexcept { return state_.load(std::memory_order_acquire) == kQueued; }
  // To be called after claim() has returned false: another thread is about to finish answering it.
  void wait_for_answer() const noexcept {
    while (!done()) std::this_thread::yield();
  }

  // A claimed request cannot be cancelled any more. Returns false if the request is answered
  // already.
  bool claim() noexcept {
    int expected = kQueued;
    return state_.compare_exchange_strong(expected, kRunning, std::memory_order_acq_rel);
  }
  // Publishes the result of a claimed request: wakes waiting threads, then calls the callback.
  void complete(ErrorCode code, Failure failure = nullptr) noexcept;
  // Fails it with deadline_exceeded if it is still queued and its deadline has passed.
  bool expire(Clock::TimePoint now) noexcept;
  // Whether a thread waits for the result, or a callback will be called.
  bool watched() const noexcept {
    return static_cast<bool>(callback_) || watchers_.load(std::memory_order_seq_cst) > 0;
  }
  bool has_deadline() const noexcept { return deadline_ != Clock::TimePoint::max(); }
  Clock::TimePoint deadline() const noexcept { return deadline_; }

  // Used by the runner that executes it.
  std::unique_ptr<const void*[]> inputs;
  std::unique_ptr<void*[]> outputs;
  std::vector<TensorMemory> copies;  // of inputs that are in the memory of outputs
  uint64_t rows = 0, taken = 0, stored = 0;
  bool at_once = false;
  Failure failed;  // the error of a step, until the request is done
  uint64_t sequence = 0;
  Clock::TimePoint submitted;
  Tracepoint trace;

 private:
  friend class RequestPool;
  explicit Request(RequestPool& pool) : pool_(pool) {}
  bool answer_if_queued(ErrorCode code) noexcept;
  void abandon() noexcept;
  void announce(ErrorCode code) noexcept;

  RequestPool& pool_;
  Request* next_ = nullptr;  // next in the pool
  std::atomic<uint32_t> references_{0};
  std::atomic<uint32_t> watchers_{0};
  std::atomic<int> state_{kQueued};  // later the ErrorCode; its store pairs with done()
  Clock::TimePoint deadline_ = Clock::TimePoint::max();
  RequestCallback callback_;
  Failure failure_;
  Waiter waiter_;
  pid_t process_ = 0;  // the one that submitted the request
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

// Allocates requests. Lives until its owner has closed it and the last request is released.
class RequestPool {
 public:
  struct Close {
    void operator()(RequestPool* pool) const noexcept { pool->close(); }
  };
  using Owner = std::unique_ptr<RequestPool, Close>;
  static Owner make(size_t inputs, size_t outputs, Clock clock = {}) {
    return Owner(new RequestPool(inputs, outputs, clock));
  }

  // Returns a request with `references` references. Only one thread at a time may call it.
  Request* take(uint32_t references, RequestCallback callback, Clock::TimePoint submitted,
                Clock::TimePoint deadline);

  // The runner waits here for requests, and for changes of wakeups().
  Waiter arrived;
  uint64_t wakeups() const noexcept { return wakeups_.load(std::memory_order_acquire); }
  // Wakes the runner because something that it waits for has changed.
  void wake() noexcept {
    wakeups_.fetch_add(1, std::memory_order_acq_rel);
    arrived.notify();
  }
  const Clock clock;
  // Whether a thread that begins to watch a request wakes the runner. Set before the first request.
  bool wake_on_watch = false;
  // Called for a request that is cancelled or late while it waits, before any thread can see the
  // answer.
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
  // A stack to which any thread pushes and from which one thread at a time pops; closed_mark() if
  // the owner is gone.
  std::atomic<Request*> head_{nullptr};
  std::atomic<int64_t> objects_{1};  // number of requests, plus 1 for the owner
  std::atomic<uint64_t> wakeups_{0};
};

}  // namespace poprt::runtime
