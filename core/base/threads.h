// Threads for a piece of work that the caller waits for.
#pragma once

#include <signal.h>

#include <cstddef>
#include <functional>

namespace poprt {

// While it lives the calling thread takes no signal, nor do threads that it makes: signals are the
// application's.
class BlockedSignals {
 public:
  BlockedSignals() noexcept;
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

// Calls `work` on the calling thread and on up to `threads` - 1 others at the same time, and
// returns when all of them have: work that shares a counter of what is done. Where no more threads
// can be had, fewer do it. Throws what a call threw, of several the one that ended first.
void work_on_threads(size_t threads, const std::function<void()>& work);

}  // namespace poprt
