// Threads for a piece of work that the caller waits for.
#pragma once

#include <signal.h>

#include <cstddef>
#include <functional>

namespace poprt {

// Blocks all signals for the calling thread as long as the object lives. A thread that it starts
// meanwhile keeps them blocked: signals belong to the application.
class BlockedSignals {
 public:
  BlockedSignals() noexcept;
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

// Calls `work` on the calling thread and on up to `threads` - 1 others in parallel, and returns
// when all calls have returned. The calls divide the work among themselves, usually with a shared
// counter. If fewer threads can be started, fewer calls are made. Throws the exception of a call,
// the first one if there are several.
void work_on_threads(size_t threads, const std::function<void()>& work);

}  // namespace poprt
