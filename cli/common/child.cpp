#include "common/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "common/abi.h"
#include "common/interrupt.h"

namespace poprt::cli {

std::string python() {
  const char* wanted = std::getenv("POPRT_PYTHON");
  return wanted && *wanted ? wanted : "python3";
}

std::vector<std::string> python_program(const std::string& program) {
  // The working folder is the empty entry that -c adds. Option -P, which adds none, needs Python
  // 3.11. No module may be imported before, except sys, which the interpreter contains.
  return {python(), "-c", "import sys\nsys.path[:] = [f for f in sys.path if f]\n" + program};
}

std::vector<std::string> python_module(const std::string& name) {
  std::vector<std::string> words = python_program(
      "import runpy\nrunpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)\n");
  words.push_back(name);
  return words;
}

namespace {

// In a child process: replaces it by the program, and returns if that fails. The parent may have
// threads, so only async-signal-safe functions are allowed.
void start(char* const* arguments, const char* output, pid_t parent) {
  // The kernel ends the child with its parent, also if the parent has no time to do so.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
  if (::getppid() != parent) ::_exit(127);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0 || ::dup2(nothing, 0) < 0) return;
  if (nothing > 0) ::close(nothing);
  if (*output) {
    const int file = ::open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ::dup2(file, 1) < 0 || ::dup2(1, 2) < 0) return;
  }
  ::execvp(arguments[0], arguments);
}

}  // namespace

int run_program(const std::vector<std::string>& words, const std::string& purpose,
                const std::filesystem::path& output) {
  std::fflush(nullptr);  // the program's output must come after earlier output
  // A parent may have ignored SIGCHLD, and then the kernel keeps no exit code.
  struct sigaction now{};
  if (sigaction(SIGCHLD, nullptr, &now) == 0 && now.sa_handler == SIG_IGN)
    std::signal(SIGCHLD, SIG_DFL);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const auto fail_to_start = [&](int error) {
    throw Failure(fmt::format("{}: cannot start {}: {}", purpose, words[0], std::strerror(error)));
  };
  int report[2];  // the child writes the error that prevents its start
  if (::pipe2(report, O_CLOEXEC) != 0) fail_to_start(errno);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) {
    start(arguments.data(), output.c_str(), parent);
    const int error = errno;
    (void)!::write(report[1], &error, sizeof error);
    ::_exit(127);
  }
  int error = child < 0 ? errno : 0;
  std::optional<EndedWithUs> ended_with_us(child);
  ::close(report[1]);
  while (child > 0 && ::read(report[0], &error, sizeof error) < 0 && errno == EINTR) {
  }
  ::close(report[0]);
  siginfo_t info;
  while (child > 0 && ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  ended_with_us.reset();  // from now on another process may get the number
  int status = 0;
  pid_t ended = 0;
  while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  if (error) fail_to_start(error);
  return ended == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace poprt::cli
