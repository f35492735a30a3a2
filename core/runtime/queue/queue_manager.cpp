#include "runtime/queue/queue_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/error.h"

namespace poprt::runtime {
namespace {

// Increments a counter that has only one writer at a time.
void add_one(telemetry::Counter& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

StreamQueue::StreamQueue(const program::Anchor& anchor, size_t buffers, bool is_input)
    : anchor_(&anchor), bytes_(anchor.bytes()), is_input_(is_input), ring_(buffers) {}

bool StreamQueue::push(void* data, uint64_t bytes, QueueCallback callback) {
  if (!data || bytes == 0)
    fail(ErrorCode::invalid_argument, "queue '{}': an element needs memory, given {} bytes at {}",
         anchor_->name, bytes, data ? "an address" : "null");
  const auto closed = [this] { return disconnected_.load(std::memory_order_acquire); };
  if (closed()) return false;
  if (ring_.begin().empty()) {
    bool free = false;
    room_.wait([&] {
      free = !ring_.begin().empty();
      return free || closed() || interrupted_.load(std::memory_order_acquire);
    });
    if (!free || closed()) return false;
  }
  ring_.begin()[0] = {static_cast<std::byte*>(data), bytes, callback};
  add_one(counts_->enqueued);
  ring_.commit();
  const uint64_t waiting = ring_.size();
  if (waiting > counts_->high_water.load(std::memory_order_relaxed))
    counts_->high_water.store(waiting, std::memory_order_relaxed);
  arrived_.notify();
  // Either disconnect() sees the element, or this thread sees that the queue is disconnected.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (closed()) flush();
  return true;
}

QueueCounts StreamQueue::counts() const noexcept {
  const auto get = [](const telemetry::Counter& c) { return c.load(std::memory_order_relaxed); };
  return {get(counts_->enqueued), get(counts_->finished), get(counts_->high_water),
          get(counts_->stalls)};
}

void StreamQueue::count_in(telemetry::Queue& record, std::shared_ptr<const void> owner) {
  counts_ = &record;
  counts_owner_ = std::move(owner);
}

bool StreamQueue::take_front() noexcept {
  if (current_.left != 0) return true;
  if (!ring_.try_pop(current_)) return false;
  room_.notify();
  return true;
}

// Waits for an element. Returns false if the queue was interrupted or disconnected.
bool StreamQueue::wait_front() noexcept {
  const auto ended = [this] {
    return interrupted_.load(std::memory_order_acquire) ||
           disconnected_.load(std::memory_order_acquire);
  };
  bool stalled = false;
  for (;;) {
    if (ended()) return false;
    {
      const std::lock_guard lock(mutex_);
      if (take_front()) return true;
    }
    if (!stalled) add_one(counts_->stalls);
    stalled = true;
    std::optional<Waiter::Clock::time_point> deadline;
    if (timeout_.count() > 0) deadline = deadline_after(Waiter::Clock::now(), timeout_);
    if (!arrived_.wait([&] { return !ring_.empty() || ended(); }, deadline)) on_timeout();
  }
}

QueueCallback StreamQueue::advance(uint64_t bytes) noexcept {
  current_.data += bytes;
  current_.left -= bytes;
  if (current_.left != 0) return {};
  add_one(counts_->finished);
  return current_.callback;
}

void* StreamQueue::acquire() noexcept {
  if (bytes_ == 0 || filled_ != 0) return nullptr;
  for (;;) {
    if (!wait_front()) return nullptr;
    const std::lock_guard lock(mutex_);
    if (current_.left == 0) continue;  // flushed in the meantime
    if (current_.left < bytes_) return nullptr;
    in_use_ = true;
    return current_.data;
  }
}

StreamCallback::Result StreamQueue::fetch(void* p) noexcept {
  // stop() may have ended this transfer when its first bytes had been copied to other memory.
  if (is_input_ && filled_ != 0 && filled_at_ != p) std::memcpy(p, filled_at_, filled_);
  filled_at_ = p;
  while (filled_ < bytes_) {
    if (!wait_front()) return Result::not_available;
    QueueCallback done;
    {
      const std::lock_guard lock(mutex_);
      const uint64_t n = std::min(current_.left, bytes_ - filled_);
      if (n == 0) continue;  // flushed in the meantime
      auto* const at = static_cast<std::byte*>(p) + filled_;
      std::memcpy(is_input_ ? at : current_.data, is_input_ ? current_.data : at, n);
      filled_ += n;
      done = advance(n);
    }
    if (done.call) done.call(done.context, ErrorCode::ok);
  }
  return Result::success;
}

void StreamQueue::complete() noexcept {
  QueueCallback done;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(in_use_, false))
      done = advance(bytes_);
    else
      filled_ = 0;
  }
  if (done.call) done.call(done.context, ErrorCode::ok);
  if (is_disconnected()) flush();
}

void StreamQueue::invalidate_prefetched() noexcept {
  {
    const std::lock_guard lock(mutex_);
    in_use_ = false;
  }
  if (is_disconnected()) flush();
}

void StreamQueue::interrupt() noexcept {
  interrupted_.store(true, std::memory_order_release);
  arrived_.notify();
  room_.notify();
}

void StreamQueue::resume() noexcept { interrupted_.store(false, std::memory_order_release); }

void StreamQueue::flush() noexcept {
  for (;;) {
    Element e;
    {
      const std::lock_guard lock(mutex_);
      if (mutex_.abandoned()) return;
      if (current_.left != 0 && !in_use_) {
        e = std::exchange(current_, {});
      } else if (!ring_.try_pop(e)) {
        return;
      }
      add_one(counts_->finished);
    }
    room_.notify();
    if (e.callback.call) e.callback.call(e.callback.context, ErrorCode::cancelled);
  }
}

void StreamQueue::disconnect() noexcept {
  disconnected_.store(true, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  arrived_.notify();
  room_.notify();
  flush();
}

InputStreamQueue::InputStreamQueue(const program::Anchor& anchor, size_t buffers, Timeout timeout,
                                   std::chrono::nanoseconds timeout_ns)
    : StreamQueue(anchor, buffers, true), on_timeout_(std::move(timeout)) {
  if (on_timeout_) timeout_ = timeout_ns;
}

void InputStreamQueue::on_timeout() noexcept { on_timeout_(*this); }

namespace {

template <class Queues>
auto& find_queue(const Queues& queues, std::string_view name, std::string_view direction) {
  std::string names;
  for (const auto& q : queues) {
    if (q->anchor().name == name) return *q;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", q->anchor().name);
  }
  fail(ErrorCode::not_found, "there is no {} queue '{}'; {} queues are: {}", direction, name,
       direction, names.empty() ? "none" : names);
}

}  // namespace

InputStreamQueue& QueueManager::input_queue(std::string_view name) const {
  return find_queue(inputs_, name, "input");
}

OutputStreamQueue& QueueManager::output_queue(std::string_view name) const {
  return find_queue(outputs_, name, "output");
}

void QueueManager::flush_all() noexcept {
  for (const auto& q : inputs_) q->flush();
  for (const auto& q : outputs_) q->flush();
}

void QueueManager::disconnect_all() noexcept {
  for (const auto& q : inputs_) q->disconnect();
  for (const auto& q : outputs_) q->disconnect();
}

}  // namespace poprt::runtime
