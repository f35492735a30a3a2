// The queue of a runner's requests, from submission until the runner's thread takes them.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "base/fork_mutex.h"
#include "runtime/queue/deadline_watch.h"
#include "runtime/queue/request.h"
#include "runtime/queue/ring_buffer.h"

namespace poprt::runtime {

// A ring of `depth` requests, which the runner's thread takes in order. If `depth` requests are in
// flight, WhenFull determines what a submission does: it waits, fails, or appends the request to a
// line without limit. Requests of the line get free places first. A request that is cancelled or
// whose deadline passes is answered and counted immediately, both in the ring and in the line; the
// runner's thread drops it later.
//
// The queue belongs to the process of the first submission. In a forked child, which has no thread
// that would empty it, all submissions fail, and stop() leaves the requests to the parent.
class RequestQueue {
 public:
  // `thread_safe`: several threads may submit at the same time. `on_answered` counts a request that
  // is cancelled, late or stopped while it waits. It is called on any thread, before any thread can
  // see the answer.
  using OnAnswered = std::function<void(ErrorCode code)>;
  RequestQueue(size_t inputs, size_t outputs, size_t depth, Clock clock, bool thread_safe,
               OnAnswered on_answered);

  // `prepare(request)` fills in the request, on the calling thread and one at a time; if it throws,
  // nothing is submitted. Throws cancelled (stopped), unavailable (full; WhenFull::fail),
  // deadline_exceeded (no place in time) and resource_exhausted (full, and called on the runner's
  // own thread, which cannot wait; or the thread that watches deadlines cannot be started), and
  // failed_precondition in a process that was forked after the first submission.
  // `accepted()`, which throws nothing, is called when nothing can fail any more and the runner
  // does not see the request yet.
  template <class Prepare, class Accepted>
  RequestPtr submit(RequestCallback callback, const RequestOptions& options, bool on_runner_thread,
                    Prepare&& prepare, Accepted&& accepted);
  template <class Prepare>
  RequestPtr submit(RequestCallback callback, const RequestOptions& options, bool on_runner_thread,
                    Prepare&& prepare) {
    return submit(callback, options, on_runner_thread, std::forward<Prepare>(prepare),
                  []() noexcept {});
  }

  // Takes the next request. Only the runner's thread may call it.
  bool try_pop(Request*& request) noexcept { return ring_.try_pop(request); }
  bool empty() const noexcept { return ring_.empty(); }
  // Frees the places of `n` requests that were taken; requests of the line move up.
  void leave(size_t n) noexcept;
  // Releases a request that was answered while it waited in the ring, and frees its place.
  void drop(Request* request) noexcept;

  // Refuses new requests and fails those in the line with `failure`. With `thread_safe`, no
  // submission succeeds after it has returned.
  void stop(const Failure& failure) noexcept;
  bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

  // The number of requests that were submitted and not answered.
  size_t in_flight() const noexcept;
  size_t depth() const noexcept { return depth_; }
  // The sequence number of the last request.
  uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire); }

  RequestPool& pool() noexcept { return *pool_; }

 private:
  // Checks that the queue belongs to this process. It comes before every other change, so a child
  // that finds no owner also finds the queue as it was made.
  void check_process() {
    const pid_t me = this_process();
    pid_t owner = process_.load(std::memory_order_relaxed);
    if (owner == me) return;
    if (owner == 0 && process_.compare_exchange_strong(owner, me, std::memory_order_relaxed))
      return;
    if (owner != me) fail_forked(owner);
  }
  [[noreturn]] static void fail_forked(pid_t owner);
  bool is_of_parent() const noexcept {
    const pid_t owner = process_.load(std::memory_order_relaxed);
    return owner != 0 && owner != this_process();
  }
  bool try_admit() noexcept;
  void admit(const RequestOptions& options, Clock::TimePoint deadline, bool on_runner_thread);
  void move_up() noexcept;
  void push(Request* request) noexcept;
  void count_answered(ErrorCode code) noexcept;

  const size_t depth_;
  const bool thread_safe_;
  const OnAnswered on_answered_;
  const RequestPool::Owner pool_;
  std::atomic<pid_t> process_{0};  // of the first submission; 0: none yet
  // Guards the producer's side of ring_, the pool's take() and line_. A forked child never locks
  // it: while a thread has it, process_ is set.
  std::mutex submit_mutex_;
  RingBuffer<Request*> ring_;
  std::deque<Request*> line_;
  // The length of line_. Requests of the line get places before submitters that wait.
  std::atomic<size_t> line_count_{0};
  std::atomic<bool> lined_{false};    // whether line_ was used; pairs with leave()
  std::atomic<size_t> in_flight_{0};  // places in use
  std::atomic<size_t> answered_{0};   // requests that were answered and not yet dropped
  std::atomic<uint64_t> submitted_{0};
  std::atomic<bool> stopped_{false};
  Waiter room_;
  DeadlineWatch watch_;  // destroyed before the pool
};

template <class Prepare, class Accepted>
RequestPtr RequestQueue::submit(RequestCallback callback, const RequestOptions& options,
                                bool on_runner_thread, Prepare&& prepare, Accepted&& accepted) {
  check_process();
  const auto called = pool_->clock.now();
  const auto deadline = deadline_after(called, options.timeout);
  const bool may_line = options.when_full == WhenFull::line;
  if (!may_line) admit(options, deadline, on_runner_thread);
  bool placed = !may_line;
  RequestPtr request;
  try {
    if (may_line) lined_.store(true, std::memory_order_seq_cst);
    std::unique_lock lock(submit_mutex_, std::defer_lock);
    if (thread_safe_ || lined_.load(std::memory_order_relaxed)) lock.lock();
    if (stopped()) fail_stopped_runner();
    request = RequestPtr(pool_->take(1, callback, called, deadline));
    prepare(*request);
    if (!placed) placed = line_.empty() && try_admit();
    if (!placed) line_.push_back(request.get());
    try {
      if (deadline != Clock::TimePoint::max() && !pool_->clock.manual()) watch_.add(request);
    } catch (...) {
      if (!placed) line_.pop_back();
      throw;
    }
    static_assert(noexcept(accepted()));
    accepted();
    request->sequence = submitted_.load(std::memory_order_relaxed) + 1;
    submitted_.store(request->sequence, std::memory_order_release);
    request->retain();  // a reference for the queue
    if (placed)
      push(request.get());
    else
      line_count_.fetch_add(1, std::memory_order_seq_cst);
  } catch (...) {
    if (placed) leave(1);
    throw;
  }
  pool_->arrived.notify();
  return request;
}

}  // namespace poprt::runtime
