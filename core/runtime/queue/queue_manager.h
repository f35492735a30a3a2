// Queues of pointers to user memory as the callbacks of a session's anchors.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "program/program.h"
#include "runtime/queue/ring_buffer.h"
#include "runtime/queue/stream_callback.h"
#include "runtime/queue/waiter.h"
#include "runtime/telemetry/telemetry_layout.h"

namespace poprt::runtime {

// Called on the serving thread when the element was consumed or filled (ok), or will never be
// (cancelled). Must not block.
struct QueueCallback {
  void (*call)(void* context, ErrorCode code) noexcept = nullptr;
  void* context = nullptr;
};

// What happened in a queue so far.
struct QueueCounts {
  uint64_t enqueued = 0, finished = 0;  // elements
  uint64_t high_water = 0;              // the most that ever waited
  uint64_t stalls = 0;                  // times that the device had to wait
};

// An element is memory of any size: less than a transfer, then several elements make one; or more,
// then it serves several. Memory that covers a transfer is used in place, anything else is copied
// when the device asks. The memory stays the caller's and must be valid until the element's
// callback, which is called exactly once: `ok` when it was consumed or filled, `cancelled` when it
// never will be. One thread at a time enqueues.
class StreamQueue : public StreamCallback {
 public:
  ~StreamQueue() override = default;

  const program::Anchor& anchor() const { return *anchor_; }
  size_t capacity() const noexcept { return ring_.capacity(); }
  // Elements that wait; any thread.
  size_t read_available() const noexcept { return ring_.size(); }
  QueueCounts counts() const noexcept;

  // Counts in a telemetry record from now on, which `owner` keeps. Before anything is enqueued.
  void count_in(telemetry::Queue& record, std::shared_ptr<const void> owner);

  // Gives back what waits, each element with `cancelled`; what the device uses right now is left.
  void flush() noexcept;

  // A timeout is a call of the user's.
  bool any_thread() const noexcept override { return timeout_.count() == 0; }
  void* acquire() noexcept override;
  Result fetch(void* p) noexcept override;
  void complete() noexcept override;
  void invalidate_prefetched() noexcept override;
  void interrupt() noexcept override;
  void resume() noexcept override;

 protected:
  StreamQueue(const program::Anchor& anchor, size_t buffers, bool is_input);

  // Blocks while the queue is full. False when it was disconnected, or when it is full and the
  // session was stopped: then nothing was enqueued, and the callback will not be called. Throws
  // invalid_argument for null or no bytes.
  bool push(void* data, uint64_t bytes, QueueCallback callback);
  // The device waited as long as it may.
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
  bool take_front() noexcept;  // with mutex_ held
  void advance(uint64_t bytes) noexcept;
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

  std::mutex mutex_;  // the consumer's side of the ring, and the next three
  Element current_;
  bool in_use_ = false;  // by the device, in place
  uint64_t filled_ = 0;  // bytes of a transfer that is made of several elements
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

// The queues of a session. Made by Session::create_queue_manager().
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
  // Throw not_found listing the names there are.
  InputStreamQueue& input_queue(std::string_view name) const;
  OutputStreamQueue& output_queue(std::string_view name) const;

  // Any thread. StreamQueue::flush() of every queue.
  void flush_all() noexcept;
  // Any thread. From now on enqueue() is false and runs find no data; what waits is given back with
  // `cancelled`.
  void disconnect_all() noexcept;

 private:
  const Inputs inputs_;
  const Outputs outputs_;
};

}  // namespace poprt::runtime
