// What ends a process, or spoils its streams, is tried in a child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace poprt::cli {

// How a process ends that runs `body`; 0 when that returns. Its streams are pipes, and it has no
// other files open: what removes files by mistake finds none of the machine, such as /dev/null.
inline int status_of(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(126);
    ::dup2(ends[0], STDIN_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace poprt::cli
