// Runs code in a child process that ends the process or closes its streams.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace poprt::cli {

// Runs `body` in a child process and returns its exit status, 0 if `body` returns. The streams of
// the child are pipes, and it has no other open files, so code that wrongly removes its open files
// cannot remove a file of the machine such as /dev/null.
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
