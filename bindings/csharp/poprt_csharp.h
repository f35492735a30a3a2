// Errors as pending exceptions, because exceptions must not pass through native frames.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "poprt_shim.h"

namespace poprt_csharp {

// Sets the pending exception of the thread. The message is valid during the call.
using ErrorFn = void (*)(int32_t code, int32_t popef_class, const char* message);
inline ErrorFn error_fn = nullptr;

inline void raise(poprt_error* error) {
  error_fn(poprt_error_get_code(error), poprt_popef_error_get_class(error),
           poprt_error_message(error));
  poprt_error_free(error);
}

// A queue of completed runs for the managed thread that completes their tasks. Each AppDomain has
// one. No native thread runs managed code: mono 6.8 may crash or hang if such a thread exists when
// the process exits. The queue is never freed, because threads of the library may use it until the
// process has ended.
class Ended {
 public:
  // A submitted run, or an element of a queue; `self` is the managed object. close() waits for
  // objects that are `counted`. Elements are not, because they may never be consumed.
  struct Run {
    Ended* to = nullptr;
    int64_t self = 0;
    bool counted = true;
    int32_t code = 0;
    std::string message;
  };

  int64_t expect(int64_t self, bool counted) {
    const std::lock_guard lock(mutex_);
    in_flight_ += counted;
    return poprt_shim::address(new Run{this, self, counted, 0, {}});
  }

  // Removes a run whose submission failed.
  void forget(int64_t run) {
    const std::unique_ptr<Run> mine(static_cast<Run*>(poprt_shim::pointer(run)));
    const std::lock_guard lock(mutex_);
    in_flight_ -= mine->counted;
  }

  static void done(int32_t code, const char* message, void* user_data) {
    auto* run = static_cast<Run*>(user_data);
    Ended* to = run->to;
    run->code = code;
    run->message = message;
    {
      const std::lock_guard lock(to->mutex_);
      to->runs_.emplace_back(run);
      to->in_flight_ -= run->counted;
    }
    to->changed_.notify_all();
  }

  // Blocks until a run is complete, which last() then returns. Returns false after close().
  bool take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !runs_.empty(); });
    if (closed_) return false;
    last_ = std::move(runs_.front());
    runs_.pop_front();
    return true;
  }

  const Run& last() const { return *last_; }  // for the thread that calls take()

  // Waits until no run is in flight, at most `patience`, and ends take().
  void close(std::chrono::milliseconds patience) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, patience, [&] { return in_flight_ == 0; });
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Run>> runs_;
  std::unique_ptr<Run> last_;
  int64_t in_flight_ = 0;
  bool closed_ = false;
};

// Numbers of PopEF sources that the library has released. It may release them on a library thread,
// so managed code polls.
class Released {
 public:
  static void add(void* number) {
    Released& all = get();
    const std::lock_guard lock(all.mutex_);
    all.numbers_.push_back(poprt_shim::address(number));
  }
  // Returns the next number, or 0 if there is none.
  static int64_t take() {
    Released& all = get();
    const std::lock_guard lock(all.mutex_);
    if (all.numbers_.empty()) return 0;
    const int64_t number = all.numbers_.front();
    all.numbers_.pop_front();
    return number;
  }

 private:
  static Released& get() {
    static auto* const all = new Released;
    return *all;
  }
  std::mutex mutex_;
  std::deque<int64_t> numbers_;
};

inline Ended& ended(int64_t address) { return *static_cast<Ended*>(poprt_shim::pointer(address)); }

}  // namespace poprt_csharp
