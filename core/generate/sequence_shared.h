// What sequences and their generator share; internal.
#pragma once

#include <sys/types.h>

#include <memory>
#include <thread>

#include "base/error.h"
#include "base/fork_condition.h"
#include "base/fork_mutex.h"
#include "generate/sequence.h"

namespace poprt::generate {

// The state that sequences and their generator share, so that either may end first.
struct Sequence::Shared {
  ForkMutex mutex;
  ForkCondition work;      // for the thread
  ForkCondition progress;  // for callers
  const pid_t process = this_process();
  std::thread::id thread;  // the one that calls callbacks
  // Guarded by the mutex.
  std::shared_ptr<Sequence> to_call;  // the first sequence whose callback is to be called
  bool ended = false;                 // there are no further calls

  // A forked child does not have the thread.
  bool is_of_parent() const noexcept { return process != this_process(); }
  void check_process() const {
    if (is_of_parent())
      fail(ErrorCode::failed_precondition,
           "process {} was forked from {}, which has the generator's thread: make a new generator",
           this_process(), process);
  }
};

}  // namespace poprt::generate
