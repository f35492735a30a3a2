// Where a runner's requests wait, from submission until its thread takes them.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "runtime/queue/deadline_watch.h"
#include "runtime/queue/request.h"
#include "runtime/queue/ring_buffer.h"

namespace poprt::runtime {

// A ring of `depth` requests that the runner's thread takes from, in order. What happens when
// `depth` are in flight is the submitter's choice (WhenFull): it waits, it is refused, or its
// request stands in a line without limit behind the ring. Requests of the line come first when
// places are free. Requests whose time is over, or that are cancelled, are answered and counted at
// once, wherever they stand; the runner's thread drops them when it meets them.
class RequestQueue {
 public:
  // `thread_safe`: several threads submit at a time. `on_answered` counts a request that is
  // cancelled, late or stopped while it waits; it is called on any thread, before anybody sees the
  // answer.
  using OnAnswered = std::function<void(ErrorCode code)>;
  RequestQueue(size_t inputs, size_t outputs, size_t depth, Clock clock, bool thread_safe,
               OnAnswered on_answered);

  // `prepare(request)` fills the request in, on this thread, one at a time; what it throws leaves
  // nothing behind. Throws cancelled (stopped), unavailable (full; WhenFull::fail),
  // deadline_exceeded (no place in time) and resource_exhausted (full, on the runner's own thread,
  // which cannot wait).
  template <class Prepare>
  RequestPtr submit(RequestCallback callback, const RequestOptions& options, bool on_runner_thread,
                    Prepare&& prepare);

  // Of the runner's thread.
  bool try_pop(Request*& request) noexcept { return ring_.try_pop(request); }
  bool empty() const noexcept { return ring_.empty(); }
  // `n` requests that were taken have no place any more; those in the line move up.
  void leave(size_t n) noexcept;
  // Gives back a request that was answered while it waited.
  void drop(Request* request) noexcept;

  // Nothing new is taken, and what stands in the line fails with `failure`; when it returns, no
  // submission is under way.
  void stop(const Failure& failure) noexcept;
  bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

  // Requests that were submitted and not answered.
  size_t in_flight() const noexcept;
  size_t depth() const noexcept { return depth_; }
  // The sequence of the last request.
  uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire); }

  RequestPool& pool() noexcept { return *pool_; }

 private:
  bool try_admit() noexcept;
  void admit(const RequestOptions& options, Clock::TimePoint deadline, bool on_runner_thread);
  void move_up() noexcept;
  void push(Request* request) noexcept;
  void answered(ErrorCode code) noexcept;

  const size_t depth_;
  const bool thread_safe_;
  const OnAnswered on_answered_;
  const RequestPool::Owner pool_;
  std::mutex submit_mutex_;  // the producer's side of ring_, the pool's take(), line_
  RingBuffer<Request*> ring_;
  std::deque<Request*> line_;
  std::atomic<size_t> line_count_{0};  // of line_; those who wait let it go first
  std::atomic<bool> lined_{false};     // line_ was used: pairs with leave()
  std::atomic<size_t> in_flight_{0};   // places that are taken
  std::atomic<size_t> answered_{0};    // requests that were answered and not yet dropped
  std::atomic<uint64_t> submitted_{0};
  std::atomic<bool> stopped_{false};
  Waiter room_;
  DeadlineWatch watch_;  // gone before the pool
};

template <class Prepare>
RequestPtr RequestQueue::submit(RequestCallback callback, const RequestOptions& options,
                                bool on_runner_thread, Prepare&& prepare) {
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
    if (deadline != Clock::TimePoint::max() && !pool_->clock.manual()) watch_.add(request);
    request->sequence = submitted_.load(std::memory_order_relaxed) + 1;
    submitted_.store(request->sequence, std::memory_order_release);
    request->retain();  // the queue's
    if (!placed) placed = line_.empty() && try_admit();
    if (placed) {
      push(request.get());
    } else {
      line_.push_back(request.get());
      line_count_.fetch_add(1, std::memory_order_seq_cst);
    }
  } catch (...) {
    if (placed) leave(1);
    throw;
  }
  pool_->arrived.notify();
  return request;
}

}  // namespace poprt::runtime
