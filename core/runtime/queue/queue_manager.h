// Queues of pointers to user memory, which serve as the callbacks of a session's anchors.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fork_mutex.h"
#include "program/program.h"
#include "runtime/queue/ring_buffer.h"
#include "runtime/queue/stream_callback.h"
#include "runtime/queue/waiter.h"
#include "runtime/telemetry/telemetry_layout.h"

namespace poprt::runtime {

// Called once for an element: with `ok`, on a thread of the session that transfers data, when the
// element was consumed or filled, or with `cancelled` if it never will be, on the thread that
// flushes or disconnects the queue or enqueues to a disconnected one. If the device is using the
// memory of the element when the queue is disconnected, the thread that ends the transfer calls it.
// Must not block.
struct QueueCallback {
  void (*call)(void* context, ErrorCode code) noexcept = nullptr;
  void* context = nullptr;
};

// The counters of a queue.
struct QueueCounts {
  uint64_t enqueued = 0, finished = 0;  // elements
  uint64_t high_water = 0;              // maximum number of waiting elements
  uint64_t stalls = 0;                  // how often the device had to wait
};

// An element is memory of any size. Several small elements make up one transfer, and a large
// element serves several transfers. Memory that covers a whole transfer is used in place; otherwise
// it is copied when the device needs it. The memory belongs to the caller and must be valid until
// the callback of the element. The callback is called exactly once: with `ok` when the element was
// consumed or filled, with `cancelled` if it never will be. Only one thread at a time may enqueue.
class StreamQueue : public StreamCallback {
 public:
  ~StreamQueue() override = default;

  const program::Anchor& anchor() const { return *anchor_; }
  size_t capacity() const noexcept { return ring_.capacity(); }
  // The number of waiting elements. Any thread may call it.
  size_t read_available() const noexcept { return ring_.size(); }
  QueueCounts counts() const noexcept;

  // From now on, the queue counts in a telemetry record, which `owner` keeps alive. Must be called
  // before the first element.
  void count_in(telemetry::Queue& record, std::shared_ptr<const void> owner);

  // Returns all waiting elements with `cancelled`, except the memory that the device is using. If
  // the queue is disconnected, the end of the transfer returns what is left of that element. Has no
  // effect in a process that was forked while another thread of the parent used the queue.
  void flush() noexcept;

  // A queue with a timeout calls a function of the user, which may depend on the thread.
  bool any_thread() const noexcept override { return timeout_.count() == 0; }
  void* acquire() noexcept override;
  Result fetch(void* p) noexcept override;
  void complete() noexcept override;
  void invalidate_prefetched() noexcept override;
  void interrupt() noexcept override;
  void resume() noexcept override;
  bool is_disconnected() const noexcept override {
    return disconnected_.load(std::memory_order_acquire);
  }

 protected:
  StreamQueue(const program::Anchor& anchor, size_t buffers, bool is_input);

  // Blocks while the queue is full. Returns false if the queue was disconnected, or if it is full
  // and the session was stopped. Then nothing is enqueued, and the callback is not called. Throws
  // invalid_argument for null or zero bytes.
  bool push(void* data, uint64_t bytes, QueueCallback callback);
  // Called each time the device has waited for `timeout_` without an element.
  virtual void on_timeout() noexcept {}
  std::chrono::nanoseconds timeout_{0};

 private:
  friend class QueueManager;
  struct Element {
    std::byte* data = nullptr;
    uint64_t left = 0;
    QueueCallback callback;
  };

  bool wait_front() noexcept;
  bool take_front() noexcept;  // requires mutex_
  // Called when the device has finished with the next bytes of the current element. Returns its
  // callback if these are the last ones. Requires mutex_, which must have been locked before the
  // bytes were copied unless in_use_ is set, because flush() could return the element to its owner
  // in the meantime.
  QueueCallback advance(uint64_t bytes) noexcept;
  void disconnect() noexcept;

  const program::Anchor* anchor_;
  const uint64_t bytes_;
  const bool is_input_;
  RingBuffer<Element> ring_;
  Waiter arrived_, room_;
  std::atomic<bool> disconnected_{false}, interrupted_{false};
  telemetry::Queue own_counts_{};
  telemetry::Queue* counts_ = &own_counts_;
  std::shared_ptr<const void> counts_owner_;

  ForkMutex mutex_;  // guards the consumer's side of the ring and the next two members
  Element current_;
  bool in_use_ = false;  // whether the device uses memory of the current element
  // The number of bytes that fetch() has copied for the current transfer. Only acquire(), fetch()
  // and complete() use it, which one thread at a time calls.
  uint64_t filled_ = 0;
  const void* filled_at_ = nullptr;  // the memory of that transfer
};

class InputStreamQueue final : public StreamQueue {
 public:
  using Timeout = std::function<void(InputStreamQueue&)>;
  InputStreamQueue(const program::Anchor& anchor, size_t buffers, Timeout timeout,
                   std::chrono::nanoseconds timeout_ns);
  bool enqueue(const void* data, uint64_t bytes, QueueCallback callback = {}) {
    return push(const_cast<void*>(data), bytes, callback);
  }

 private:
  void on_timeout() noexcept override;
  Timeout on_timeout_;
};

class OutputStreamQueue final : public StreamQueue {
 public:
  OutputStreamQueue(const program::Anchor& anchor, size_t buffers)
      : StreamQueue(anchor, buffers, false) {}
  bool enqueue(void* data, uint64_t bytes, QueueCallback callback = {}) {
    return push(data, bytes, callback);
  }
};

// The queues of a session. Created by Session::create_queue_manager().
class QueueManager {
 public:
  using Inputs = std::vector<std::shared_ptr<InputStreamQueue>>;
  using Outputs = std::vector<std::shared_ptr<OutputStreamQueue>>;

  QueueManager(Inputs inputs, Outputs outputs)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}
  ~QueueManager() { disconnect_all(); }
  QueueManager(const QueueManager&) = delete;
  QueueManager& operator=(const QueueManager&) = delete;

  const Inputs& inputs() const { return inputs_; }
  const Outputs& outputs() const { return outputs_; }
  // Throws not_found with the existing names in the message.
  InputStreamQueue& input_queue(std::string_view name) const;
  OutputStreamQueue& output_queue(std::string_view name) const;

  // Calls StreamQueue::flush() for every queue. Any thread may call it.
  void flush_all() noexcept;
  // From now on, enqueue() returns false and runs find no data; waiting elements are returned with
  // `cancelled`. Any thread may call it.
  void disconnect_all() noexcept;

 private:
  const Inputs inputs_;
  const Outputs outputs_;
};

}  // namespace poprt::runtime
