// A call on another thread while the caller does other work.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <system_error>
#include <thread>

#include "base/threads.h"

namespace poprt {

template <class T>
class Background {
 public:
  // Starts `call` on a new thread. `stopped` becomes true when this object is destroyed; `call` may
  // then end with any exception. If `short_call`, or if no thread can be started, get() makes the
  // call on the thread of its caller: a short call takes less time than starting a thread.
  explicit Background(std::function<T(const std::atomic<bool>& stopped)> call,
                      bool short_call = false)
      : task_([this, call = std::move(call)] { return call(stopped_); }),
        result_(task_.get_future()) {
    if (short_call) return;
    try {
      const BlockedSignals blocked;
      thread_ = std::thread(std::ref(task_));
    } catch (const std::system_error&) {  // get() makes the call
    }
  }
  // Sets the flag, and waits for the end of the call if it has a thread.
  ~Background() {
    stopped_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) thread_.join();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Waits for the result and returns it, or throws the exception of the call. While it waits, calls
  // `poll` every 20 ms; an exception of `poll` is passed on. May be called once.
  T get(const std::function<void()>& poll = {}) {
    constexpr std::chrono::milliseconds kPolling{20};
    if (!thread_.joinable()) task_();
    while (poll && result_.wait_for(kPolling) != std::future_status::ready) poll();
    return result_.get();
  }

 private:
  std::atomic<bool> stopped_ = false;
  std::packaged_task<T()> task_;
  std::future<T> result_;
  std::thread thread_;
};

}  // namespace poprt
