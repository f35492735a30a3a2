#include "runtime/queue_manager.h"

#include <algorithm>

#include "runtime/anchor_lookup.h"

namespace poprt::runtime {

Queue::Queue(QueueManager& manager, const program::Anchor& anchor, size_t buffers)
    : manager_(manager), anchor_(&anchor), bytes_(anchor.bytes()), ring_(buffers) {}

bool Queue::push(void* data, uint64_t bytes, QueueCallback callback) {
  if (bytes != bytes_) fail_wrong_size(*anchor_, bytes, "queue");
  const auto disconnected = [this] {
    return manager_.disconnected_.load(std::memory_order_acquire);
  };
  if (disconnected()) return false;
  if (ring_.begin().empty()) {
    room_.wait([&] { return !ring_.begin().empty() || disconnected(); });
    if (disconnected()) return false;
  }
  ring_.begin()[0] = {data, callback};
  ring_.commit();
  manager_.arrived_.notify();
  return true;
}

QueueManager::QueueManager(const program::Program& program, size_t buffers)
    : program_(program),
      input_pointers_(program.inputs.size()),
      output_pointers_(program.outputs.size()) {
  for (const program::Anchor& a : program.inputs)
    inputs_.push_back(std::make_unique<InputQueue>(*this, a, buffers));
  for (const program::Anchor& a : program.outputs)
    outputs_.push_back(std::make_unique<OutputQueue>(*this, a, buffers));
  callbacks_.reserve(inputs_.size() + outputs_.size());
}

InputQueue& QueueManager::input_queue(std::string_view name) {
  return *inputs_[find_anchor(program_.inputs, name, 0, "input")];
}

OutputQueue& QueueManager::output_queue(std::string_view name) {
  return *outputs_[find_anchor(program_.outputs, name, 0, "output")];
}

bool QueueManager::ready() noexcept {
  const auto waiting = [](const auto& q) { return !q->ring_.peek(1).empty(); };
  return std::all_of(outputs_.begin(), outputs_.end(), waiting) &&
         std::all_of(inputs_.begin(), inputs_.end(), waiting);
}

bool QueueManager::wait_ready() noexcept {
  bool is_ready = false;
  arrived_.wait([&] {
    if (disconnected_.load(std::memory_order_acquire)) return true;
    // Before the look at the queues: what was enqueued before finish() is seen.
    const bool last = finishing_.load(std::memory_order_acquire);
    is_ready = ready();
    return is_ready || last;
  });
  if (!is_ready || disconnected_.load(std::memory_order_acquire)) return false;
  for (size_t i = 0; i < inputs_.size(); i++)
    input_pointers_[i] = inputs_[i]->ring_.peek(1)[0].data;
  for (size_t i = 0; i < outputs_.size(); i++)
    output_pointers_[i] = outputs_[i]->ring_.peek(1)[0].data;
  return true;
}

void QueueManager::complete(ErrorCode code) noexcept {
  callbacks_.clear();
  const auto take = [&](Queue& q) {
    Queue::Element e;
    if (!q.ring_.try_pop(e)) return;
    q.room_.notify();
    if (e.callback.call) callbacks_.push_back(e.callback);
  };
  for (auto& q : inputs_) take(*q);
  for (auto& q : outputs_) take(*q);
  // After all elements are gone: a callback may enqueue the next run.
  for (const QueueCallback& c : callbacks_) c.call(c.context, code);
}

void QueueManager::cancel_waiting() noexcept {
  const auto waiting = [](const auto& q) { return !q->ring_.peek(1).empty(); };
  while (std::any_of(inputs_.begin(), inputs_.end(), waiting) ||
         std::any_of(outputs_.begin(), outputs_.end(), waiting))
    complete(ErrorCode::cancelled);
}

void QueueManager::disconnect_all() noexcept {
  disconnected_.store(true, std::memory_order_release);
  arrived_.notify();
  for (auto& q : inputs_) q->room_.notify();
  for (auto& q : outputs_) q->room_.notify();
}

void QueueManager::finish() noexcept {
  finishing_.store(true, std::memory_order_release);
  arrived_.notify();
}

}  // namespace poprt::runtime
