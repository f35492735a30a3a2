// What ends a process, or spoils its streams, is tried in a child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace poprt::cli {

// How a process ends that runs `body`; 0 when that returns.
inline int status_of(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace poprt::cli
