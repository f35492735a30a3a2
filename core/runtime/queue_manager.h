// One queue of pointers into user memory for every anchor of a session.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "program/program.h"
#include "runtime/ring_buffer.h"
#include "runtime/waiter.h"

namespace poprt::runtime {

// Called on the serving thread when the element was consumed or filled (ok), or will never be
// (cancelled). Must not block.
struct QueueCallback {
  void (*call)(void* context, ErrorCode code) noexcept = nullptr;
  void* context = nullptr;
};

class QueueManager;

// One producer thread at a time. The memory stays the caller's and must be valid until the callback
// (of this element, or of a later one of the same run).
class Queue {
 public:
  const program::Anchor& anchor() const { return *anchor_; }
  // Elements that wait.
  size_t size() const noexcept { return ring_.size(); }
  size_t capacity() const noexcept { return ring_.capacity(); }

 protected:
  Queue(QueueManager& manager, const program::Anchor& anchor, size_t buffers);

  struct Element {
    void* data;
    QueueCallback callback;
  };

  // Blocks while the ring is full. False when the manager was disconnected: nothing was enqueued
  // and the callback will not be called. Throws invalid_argument for a wrong size.
  bool push(void* data, uint64_t bytes, QueueCallback callback);

 private:
  friend class QueueManager;
  QueueManager& manager_;
  const program::Anchor* anchor_;
  uint64_t bytes_;
  RingBuffer<Element> ring_;
  Waiter room_;
};

class InputQueue : public Queue {
 public:
  InputQueue(QueueManager& manager, const program::Anchor& anchor, size_t buffers)
      : Queue(manager, anchor, buffers) {}
  bool enqueue(const void* data, uint64_t bytes, QueueCallback callback = {}) {
    return push(const_cast<void*>(data), bytes, callback);
  }
};

class OutputQueue : public Queue {
 public:
  OutputQueue(QueueManager& manager, const program::Anchor& anchor, size_t buffers)
      : Queue(manager, anchor, buffers) {}
  bool enqueue(void* data, uint64_t bytes, QueueCallback callback = {}) {
    return push(data, bytes, callback);
  }
};

// Producers enqueue, one thread serves. Elements of all queues are matched by their position: the
// n-th run takes the n-th element of every queue.
class QueueManager {
 public:
  // `program` must outlive the manager. Each queue has room for `buffers` elements (rounded up to a
  // power of two).
  QueueManager(const program::Program& program, size_t buffers);

  InputQueue& input(size_t index) { return *inputs_[index]; }
  OutputQueue& output(size_t index) { return *outputs_[index]; }
  // Throws not_found listing the names there are.
  InputQueue& input_queue(std::string_view name);
  OutputQueue& output_queue(std::string_view name);

  // Serving thread: waits until every queue has an element. False when disconnected, or when
  // finish() was called and there is nothing left.
  bool wait_ready() noexcept;
  // Serving thread, after wait_ready(): one pointer per anchor; valid until complete().
  const void* const* front_inputs() noexcept { return input_pointers_.data(); }
  void* const* front_outputs() noexcept { return output_pointers_.data(); }
  // Serving thread: gives the front elements back and calls their callbacks, inputs first.
  void complete(ErrorCode code) noexcept;
  // Serving thread, after disconnect_all(): every waiting element's callback gets `cancelled`.
  void cancel_waiting() noexcept;

  // Any thread. enqueue() and wait_ready() return false from now on.
  void disconnect_all() noexcept;
  // Any thread. wait_ready() returns false once the queues are empty.
  void finish() noexcept;

 private:
  friend class Queue;
  bool ready() noexcept;

  const program::Program& program_;
  std::vector<std::unique_ptr<InputQueue>> inputs_;
  std::vector<std::unique_ptr<OutputQueue>> outputs_;
  std::vector<const void*> input_pointers_;
  std::vector<void*> output_pointers_;
  std::vector<QueueCallback> callbacks_;  // of the run that complete() finishes
  std::atomic<bool> disconnected_{false};
  std::atomic<bool> finishing_{false};
  Waiter arrived_;
};

}  // namespace poprt::runtime
