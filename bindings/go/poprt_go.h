// What only Go needs: a request's memory as one slice of numbers, and where requests arrive that
// are done.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "poprt_shim.h"

namespace poprt_go {

// poprt_input and poprt_output from triples of index, address and bytes. Few are kept on the stack.
class Entries {
 public:
  Entries(poprt_values values, int64_t inputs, int64_t outputs)
      : inputs_(static_cast<size_t>(inputs)), outputs_(static_cast<size_t>(outputs)) {
    if (inputs_ > kFew) many_in_.resize(inputs_);
    if (outputs_ > kFew) many_out_.resize(outputs_);
    const auto* at = static_cast<const int64_t*>(values);
    for (size_t i = 0; i < inputs_; i++, at += 3)
      in()[i] = {nullptr, static_cast<size_t>(at[0]), poprt_shim::pointer(at[1]),
                 static_cast<size_t>(at[2])};
    for (size_t i = 0; i < outputs_; i++, at += 3)
      out()[i] = {nullptr, static_cast<size_t>(at[0]), poprt_shim::pointer(at[1]),
                  static_cast<size_t>(at[2])};
  }
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;
  poprt_input* in() { return inputs_ > kFew ? many_in_.data() : few_in_; }
  poprt_output* out() { return outputs_ > kFew ? many_out_.data() : few_out_; }
  size_t inputs() const { return inputs_; }
  size_t outputs() const { return outputs_; }

 private:
  static constexpr size_t kFew = 8;
  size_t inputs_, outputs_;
  poprt_input few_in_[kFew];
  poprt_output few_out_[kFew];
  std::vector<poprt_input> many_in_;
  std::vector<poprt_output> many_out_;
};

// Requests that are done, on their way to the one goroutine that takes them: a request that waits
// costs no thread.
class Completions {
 public:
  static Completions& instance() {
    static auto* const all =
        new Completions;  // never destroyed: runners may end while the process exits
    return *all;
  }
  static void on_done(poprt_error_code, void* id) { instance().add(poprt_shim::address(id)); }

  // Waits for the next.
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
