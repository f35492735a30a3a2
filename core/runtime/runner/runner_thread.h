// The thread of a runner, which starts with its first request.
#pragma once

#include <sys/types.h>

#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/fork_mutex.h"
#include "base/threads.h"

namespace poprt::runtime {

// Starts `serve` on a detached thread if `process`, the process that started it, is 0. `finished`
// becomes false; `serve` sets it to true at its end. The caller holds a lock that guards both.
// Throws failed_precondition in a process that was forked from `process`, and resource_exhausted.
template <class Flag, class Serve>
void start_runner_thread(pid_t& process, Flag& finished, Serve serve) {
  if (process) {
    if (process != this_process())
      fail(ErrorCode::failed_precondition,
           "process {} was forked from {}, which has the runner's thread: make a new runner",
           this_process(), process);
    return;
  }
  const BlockedSignals blocked;
  finished = false;
  try {
    std::thread(std::move(serve)).detach();
  } catch (const std::system_error& e) {
    finished = true;
    fail(ErrorCode::resource_exhausted, "cannot start the runner's thread: {}", e.what());
  }
  process = this_process();
}

}  // namespace poprt::runtime
