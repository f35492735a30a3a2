#include "runtime/session/overlapped_transfers.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace poprt::runtime {

Session::OverlappedTransfers::OverlappedTransfers(Session& session) : session_(session) {
  for (Slot& slot : slots_) {
    slot.inputs.resize(session.inputs_.size());
    slot.outputs.resize(session.outputs_.size());
    slot.input_memory.resize(session.inputs_.size());
    slot.output_memory.resize(session.outputs_.size());
  }
}

bool Session::OverlappedTransfers::possible() const noexcept {
  const auto allows = [](const Stream& s) {
    return !is_called(s) || (s.callback->any_thread() && !s.kept);
  };
  return std::ranges::all_of(session_.inputs_, allows) &&
         std::ranges::all_of(session_.outputs_, allows);
}

void Session::OverlappedTransfers::begin() {
  interrupted_ = false;
  begun_ = answered_ = 0;
  const auto reserve = [](TensorMemory& memory, const Stream& s) {
    if (!memory.data()) memory = TensorMemory(s.bytes);
    return memory.data();
  };
  // A run without overlap may have prefetched data, which must be fetched again.
  for (Stream& s : session_.inputs_)
    if (std::exchange(s.prefetched, false)) s.callback->invalidate_prefetched();
  for (Slot& slot : slots_) {
    for (size_t i = 0; i < session_.inputs_.size(); i++)
      if (is_called(session_.inputs_[i]) || session_.inputs_[i].seed)
        slot.inputs[i] = reserve(slot.input_memory[i], session_.inputs_[i]);
    for (size_t i = 0; i < session_.outputs_.size(); i++) {
      Stream& s = session_.outputs_[i];
      if (s.weights) continue;
      // The slots share one buffer for an output that no callback receives.
      slot.outputs[i] = reserve(is_called(s) ? slot.output_memory[i] : s.memory, s);
    }
  }
}

void Session::OverlappedTransfers::end() noexcept {
  for (; session_.telemetry_ && answered_ < begun_; answered_++) session_.telemetry_->failed();
  if (!interrupted_ || session_.stopped_.load(std::memory_order_acquire) ||
      session_.evicting_.load(std::memory_order_acquire))
    return;
  for (const Stream& s : session_.inputs_)
    if (is_called(s)) s.callback->resume();
}

void Session::OverlappedTransfers::load(uint64_t item) {
  Slot& to = slot(item);
  for (size_t i = 0; i < session_.inputs_.size(); i++) {
    Stream& s = session_.inputs_[i];
    if (is_called(s)) {
      if (s.callback->fetch(to.input_memory[i].data()) != StreamCallback::Result::success)
        session_.fail_transfer(s, "gave");
    } else if (s.used[static_cast<size_t>(device::Flow::main)]) {
      const void* const value = session_.next_own_value(s);
      if (s.seed && s.data.empty())
        std::memcpy(to.input_memory[i].data(), value, s.bytes);
      else
        to.inputs[i] = value;
    }
  }
  // complete() is called only when every input has data. If one has none, the next run gets the
  // same data of the others again, so the inputs stay in step.
  for (Stream& s : session_.inputs_)
    if (is_called(s)) s.callback->complete();
  to.loaded = Telemetry::Clock::now();
}

void Session::OverlappedTransfers::compute(uint64_t item) {
  Slot& now = slot(item);
  begun_++;
  if (session_.telemetry_) session_.telemetry_->submitted();
  session_.run_engine(device::Flow::main, now.inputs.data(), now.outputs.data());
}

void Session::OverlappedTransfers::store(uint64_t item) {
  Slot& from = slot(item);
  for (size_t i = 0; i < session_.outputs_.size(); i++) {
    Stream& s = session_.outputs_[i];
    if (!is_called(s)) continue;
    if (s.callback->fetch(from.output_memory[i].data()) != StreamCallback::Result::success)
      session_.fail_transfer(s, "took");
    s.callback->complete();
  }
  answered_++;
  if (session_.telemetry_) session_.telemetry_->completed(Telemetry::Clock::now() - from.loaded);
}

void Session::OverlappedTransfers::interrupt() noexcept {
  interrupted_ = true;
  for (const Stream& s : session_.inputs_)
    if (is_called(s)) s.callback->interrupt();
}

// Returns false if there is nothing to overlap, if the model has replicas, if a callback requires
// the thread that runs, if an input keeps its last value, or in a forked child, which does not have
// the threads.
bool Session::run_overlapped(uint64_t iterations) {
  if (!model_->overlap_io || iterations < kOverlapped || model_->replication_factor != 1)
    return false;
  if (!transfers_) transfers_ = std::make_unique<OverlappedTransfers>(*this);
  if (!transfers_->possible()) return false;
  if (!io_) io_ = std::make_unique<IoOverlap>();
  if (!io_->usable()) return false;
  transfers_->begin();
  try {
    io_->run(iterations, *transfers_);
  } catch (...) {
    transfers_->end();
    throw;
  }
  return true;
}

}  // namespace poprt::runtime
