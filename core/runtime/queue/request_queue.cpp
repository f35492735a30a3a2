#include "runtime/queue/request_queue.h"

namespace poprt::runtime {

RequestQueue::RequestQueue(size_t inputs, size_t outputs, size_t depth, Clock clock,
                           bool thread_safe, OnAnswered on_answered)
    : depth_(depth),
      thread_safe_(thread_safe),
      on_answered_(std::move(on_answered)),
      pool_(RequestPool::make(inputs, outputs, clock)),
      ring_(depth) {
  pool_->on_answered = {[](void* self, ErrorCode code) noexcept {
                          static_cast<RequestQueue*>(self)->count_answered(code);
                        },
                        this};
}

void RequestQueue::fail_forked(pid_t owner) {
  fail(ErrorCode::failed_precondition,
       "process {} was forked from {}, which has the runner's thread: make a new runner",
       this_process(), owner);
}

bool RequestQueue::try_admit() noexcept {
  size_t n = in_flight_.load(std::memory_order_seq_cst);
  while (n < depth_)
    if (in_flight_.compare_exchange_weak(n, n + 1, std::memory_order_seq_cst)) return true;
  return false;
}

void RequestQueue::admit(const RequestOptions& options, Clock::TimePoint deadline,
                         bool on_runner_thread) {
  if (stopped()) fail_stopped_runner();
  const auto first_come = [this] {
    return line_count_.load(std::memory_order_seq_cst) == 0 && try_admit();
  };
  if (first_come()) return;
  if (options.when_full == WhenFull::fail)
    fail(ErrorCode::unavailable, "the queue is full: {} requests are in flight", depth_);
  if (on_runner_thread)
    fail(ErrorCode::resource_exhausted, "{} requests are in flight already", depth_);
  bool admitted = false;
  const auto limit = deadline == Clock::TimePoint::max() ? std::nullopt : std::optional(deadline);
  pool_->clock.wait(room_, [&] { return (admitted = first_come()) || stopped(); }, limit);
  if (admitted) return;
  if (stopped()) fail_stopped_runner();
  fail(ErrorCode::deadline_exceeded,
       "the request was not run: its time was over while {} others were in flight", depth_);
}

// Admission guarantees a free slot in the ring.
void RequestQueue::push(Request* request) noexcept {
  ring_.begin()[0] = request;
  ring_.commit();
}

void RequestQueue::leave(size_t n) noexcept {
  if (n == 0) return;
  in_flight_.fetch_sub(n, std::memory_order_seq_cst);
  // If lined_ is not set here, a submitter that sets it later sees the free place and takes it.
  if (lined_.load(std::memory_order_seq_cst)) move_up();
  room_.notify();
}

void RequestQueue::move_up() noexcept {
  bool moved = false;
  const std::lock_guard lock(submit_mutex_);
  while (!line_.empty()) {
    Request* const r = line_.front();
    const bool answered = !r->queued();
    if (!answered && !try_admit()) break;
    line_.pop_front();
    line_count_.fetch_sub(1, std::memory_order_seq_cst);
    if (answered) {
      r->wait_for_answer();
      answered_.fetch_sub(1, std::memory_order_relaxed);
      r->release();
    } else {
      push(r);
      moved = true;
    }
  }
  if (moved) pool_->arrived.notify();
}

void RequestQueue::drop(Request* request) noexcept {
  request->wait_for_answer();
  leave(1);
  answered_.fetch_sub(1, std::memory_order_relaxed);
  request->release();
}

void RequestQueue::count_answered(ErrorCode code) noexcept {
  answered_.fetch_add(1, std::memory_order_relaxed);
  on_answered_(code);
}

void RequestQueue::stop(const Failure& failure) noexcept {
  stopped_.store(true, std::memory_order_release);
  room_.notify();
  if (is_of_parent()) return;
  std::deque<Request*> line;
  {
    const std::lock_guard lock(submit_mutex_);
    line.swap(line_);
    line_count_.store(0, std::memory_order_seq_cst);
  }
  for (Request* const r : line) {
    if (r->claim()) {
      on_answered_(ErrorCode::cancelled);
      r->complete(ErrorCode::cancelled, failure);
    } else {
      r->wait_for_answer();
      answered_.fetch_sub(1, std::memory_order_relaxed);
    }
    r->release();
  }
}

size_t RequestQueue::in_flight() const noexcept {
  const size_t waiting =
      in_flight_.load(std::memory_order_relaxed) + line_count_.load(std::memory_order_relaxed);
  const size_t answered = answered_.load(std::memory_order_relaxed);
  return waiting > answered ? waiting - answered : 0;
}

}  // namespace poprt::runtime
