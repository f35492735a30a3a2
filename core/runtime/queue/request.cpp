#include "runtime/queue/request.h"

#include <memory>

#include "base/deadline.h"
#include "base/first_use.h"
#include "base/fork_mutex.h"

namespace poprt::runtime {
namespace {

Request* closed_mark() noexcept { return reinterpret_cast<Request*>(uintptr_t{1}); }

}  // namespace

Clock::TimePoint deadline_after(Clock::TimePoint start,
                                std::optional<std::chrono::nanoseconds> timeout) noexcept {
  return timeout ? poprt::deadline_after(start, *timeout) : Clock::TimePoint::max();
}

void fail_stopped_runner() { fail(ErrorCode::cancelled, "the runner was stopped"); }

const Failure& stopped_failure() {
  static constinit FirstUse<const Failure> failure;
  return failure.get([] {
    return std::make_shared<const Error>(ErrorCode::cancelled,
                                         "the request was not run: the runner was stopped");
  });
}

bool Request::wait(std::optional<std::chrono::nanoseconds> timeout) noexcept {
  if (done()) return true;
  if (process_ != this_process()) abandon();
  std::optional<Clock::TimePoint> limit;
  if (timeout) {
    const auto now = Waiter::Clock::now();
    // A timeout beyond the range of the clock has no effect.
    if (*timeout < Waiter::Clock::time_point::max() - now) limit = now + *timeout;
  }
  watchers_.fetch_add(1, std::memory_order_seq_cst);
  if (pool_.wake_on_watch) pool_.wake();
  const auto ready = [this] { return done(); };
  bool result;
  if (has_deadline() && !pool_.clock.manual() && (!limit || deadline_ < *limit)) {
    result = waiter_.wait(ready, deadline_);
    // The runner may be busy with another request; this one is late nevertheless.
    if (!result && !expire(deadline_)) result = waiter_.wait(ready, limit);
    result = result || done();
  } else {
    result = waiter_.wait(ready, limit);
  }
  watchers_.fetch_sub(1, std::memory_order_relaxed);
  return result;
}

Failure Request::failure() const {
  if (failure_) return failure_;
  const ErrorCode c = code();
  if (c == ErrorCode::ok) return nullptr;
  if (c == ErrorCode::failed_precondition)
    return std::make_shared<const Error>(
        c, fmt::format("the request was not done when process {} was forked, which has no thread "
                       "that would answer it: submit it again to a new runner",
                       this_process()));
  return std::make_shared<const Error>(
      c, c == ErrorCode::deadline_exceeded
             ? "the request was not run: its time was over before it began"
             : "the request was not run: it was cancelled");
}

void Request::check() const {
  if (const Failure f = failure()) throw Error(*f);
}

// Wakes waiting threads and calls the callback when state_ has the result. The woken threads may
// release their references, so the caller must have one until this function ends. The threads are
// woken first: the callback may need a lock that a waiting thread holds, so in the other order both
// could wait for each other.
void Request::announce(ErrorCode code) noexcept {
  waiter_.notify();
  callback_(code, *this);
}

void Request::complete(ErrorCode code, Failure failure) noexcept {
  failure_ = std::move(failure);
  if (callback_.before && code == ErrorCode::ok) callback_.before(callback_.context);
  state_.store(static_cast<int>(code), std::memory_order_release);
  announce(code);
}

bool Request::answer_if_queued(ErrorCode code) noexcept {
  int expected = kQueued;
  if (!state_.compare_exchange_strong(expected, kAnswering, std::memory_order_acq_rel))
    return false;
  retain();  // the caller's reference may belong to the runner, which releases it after the wake
  if (pool_.on_answered.call) pool_.on_answered.call(pool_.on_answered.context, code);
  state_.store(static_cast<int>(code), std::memory_order_release);
  announce(code);
  pool_.wake();  // the runner drops it from its queue
  release();
  return true;
}

bool Request::cancel() noexcept { return answer_if_queued(ErrorCode::cancelled); }

bool Request::expire(Clock::TimePoint now) noexcept {
  return now >= deadline_ && answer_if_queued(ErrorCode::deadline_exceeded);
}

// Fails a request of the parent in a forked child, which has none of the threads that use it. The
// callback is not called, because it belongs to the parent.
void Request::abandon() noexcept {
  int state = state_.load(std::memory_order_acquire);
  do
    if (state >= 0 || state == kAbandoning) return;
  while (!state_.compare_exchange_weak(state, kAbandoning, std::memory_order_acq_rel,
                                       std::memory_order_acquire));
  // A thread of the parent may have been in the middle of a change, so the old value is not
  // destroyed.
  std::construct_at(&failure_);
  state_.store(static_cast<int>(ErrorCode::failed_precondition), std::memory_order_release);
  waiter_.notify();
}

void Request::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) pool_.give_back(this);
}

Request* RequestPool::take(uint32_t references, RequestCallback callback,
                           Clock::TimePoint submitted, Clock::TimePoint deadline) {
  Request* r = head_.load(std::memory_order_acquire);
  // Only one thread at a time pops, so the next pointer of the head cannot change.
  while (r && !head_.compare_exchange_weak(r, r->next_, std::memory_order_acquire)) continue;
  if (!r) {
    std::unique_ptr<Request> made(new Request(*this));
    made->inputs = std::make_unique<const void*[]>(inputs_);
    made->outputs = std::make_unique<void*[]>(outputs_);
    objects_.fetch_add(1, std::memory_order_relaxed);
    r = made.release();
  }
  r->references_.store(references, std::memory_order_relaxed);
  r->watchers_.store(0, std::memory_order_relaxed);
  r->taken = r->stored = 0;
  r->callback_ = callback;
  r->failure_ = nullptr;
  r->process_ = this_process();
  r->deadline_ = deadline;
  r->submitted = submitted;
  r->state_.store(Request::kQueued, std::memory_order_relaxed);
  return r;
}

void RequestPool::give_back(Request* request) noexcept {
  request->failure_ = nullptr;
  request->copies.clear();
  Request* head = head_.load(std::memory_order_relaxed);
  do {
    if (head == closed_mark()) {
      delete request;
      drop_object();
      return;
    }
    request->next_ = head;
  } while (!head_.compare_exchange_weak(head, request, std::memory_order_release,
                                        std::memory_order_relaxed));
}

void RequestPool::close() noexcept {
  Request* r = head_.exchange(closed_mark(), std::memory_order_acq_rel);
  while (r) {
    Request* next = r->next_;
    delete r;
    r = next;
    drop_object();
  }
  drop_object();
}

void RequestPool::drop_object() noexcept {
  if (objects_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

}  // namespace poprt::runtime
