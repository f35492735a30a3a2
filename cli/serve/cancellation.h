// Cancels a request that its client has given up.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace poprt::serve {

// Shared by the connection, which calls cancel(), and by the request, which sets what that does.
// Thread-safe.
class Cancellation {
 public:
  // Calls the function of set(), now or as soon as there is one.
  void cancel() {
    std::function<void()> action;
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = true;
      action.swap(action_);
    }
    if (action) action();
  }
  // Replaces the function by one that must not throw, or by null. It is called at most once,
  // outside of the lock, so it must be valid also after it was replaced.
  void set(std::function<void()> action) {
    {
      const std::lock_guard lock(mutex_);
      action.swap(action_);
      if (!cancelled_) return;
      action.swap(action_);
    }
    if (action) action();
  }

 private:
  std::mutex mutex_;
  std::function<void()> action_;  // guarded by mutex_
  bool cancelled_ = false;        // guarded by mutex_
};

}  // namespace poprt::serve
