// Helpers for Go only: the memory of a request as one slice of numbers, and the queue of completed
// requests and of sequences with progress.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "poprt_shim.h"

namespace poprt_go {

// Tensors from numbers: index, address, bytes, dtype (0: unknown), rank and shape of each. The
// shapes are used in place. Up to kFew tensors are on the stack.
class Entries {
 public:
  Entries(poprt_values values, int64_t inputs, int64_t outputs)
      : inputs_(static_cast<size_t>(inputs)), outputs_(static_cast<size_t>(outputs)) {
    if (inputs_ + outputs_ > kFew) many_.resize(inputs_ + outputs_);
    const auto* at = static_cast<const int64_t*>(values);
    for (size_t i = 0; i < inputs_ + outputs_; i++, at += 5 + at[4])
      in()[i] = {nullptr,
                 static_cast<size_t>(at[0]),
                 poprt_shim::pointer(at[1]),
                 static_cast<size_t>(at[2]),
                 static_cast<poprt_dtype>(at[3]),
                 0,
                 at + 5,
                 static_cast<size_t>(at[4])};
  }
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;
  poprt_tensor* in() { return many_.empty() ? few_ : many_.data(); }
  poprt_tensor* out() { return in() + inputs_; }
  size_t inputs() const { return inputs_; }
  size_t outputs() const { return outputs_; }

 private:
  static constexpr size_t kFew = 16;
  size_t inputs_, outputs_;
  poprt_tensor few_[kFew];
  std::vector<poprt_tensor> many_;
};

// A queue of completed requests and of sequences with progress. One goroutine takes all of them, so
// that a goroutine which waits for one needs no thread.
class Completions {
 public:
  static Completions& instance() {
    static auto* const all =
        new Completions;  // never destroyed: runners may end while the process exits
    return *all;
  }
  static void on_done(poprt_error_code, void* id) { instance().add(poprt_shim::address(id)); }
  static void on_progress(void* id) { instance().add(poprt_shim::address(id)); }

  // Waits for the next completed request or sequence with progress, and returns its number.
  int64_t take() {
    std::unique_lock<std::mutex> lock(mutex_);
    arrived_.wait(lock, [this] { return !ids_.empty(); });
    const int64_t id = ids_.front();
    ids_.pop_front();
    return id;
  }

 private:
  void add(int64_t id) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ids_.push_back(id);
    }
    arrived_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<int64_t> ids_;
};

}  // namespace poprt_go
