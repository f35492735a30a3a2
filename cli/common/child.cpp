#include "common/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/abi.h"

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
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (!output.empty()) {
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
  }
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    throw Failure(fmt::format("{}: cannot start {}: {}", purpose, words[0], std::strerror(error)));
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  return ended == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace poprt::cli
