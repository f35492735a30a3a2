#include "app/file_dialog.h"

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace poprt::inspector {
namespace {

std::string found_program() {
  const char* path = std::getenv("PATH");
  for (const char* name : {"zenity", "kdialog"}) {
    std::string_view rest = path ? path : "";
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(':'), rest.size());
      const std::string file = std::string(rest.substr(0, end)) + "/" + name;
      if (access(file.c_str(), X_OK) == 0) return file;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return {};
}

// Appends what the pipe contains without waiting for more. Returns false at its end.
bool append_available(int from, std::string& text) {
  std::array<char, 4096> bytes{};
  pollfd ready = {from, POLLIN, 0};
  while (poll(&ready, 1, 0) > 0) {
    const ssize_t n = read(from, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.append(bytes.data(), static_cast<size_t>(n));
  }
  return true;
}

// Runs the dialog and returns its output. The dialog is ended if `cancel` becomes true. The output
// is read while the dialog runs, because a program that writes more than a pipe contains waits for
// its reader. A process that the dialog leaves running may keep the pipe open, so its end is not
// awaited.
std::string run(const std::vector<std::string>& words, const std::atomic<bool>& cancel) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::vector<char*> arguments;
  for (const std::string& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  if (failed == 0) {
    int status = 0;
    bool open = true;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (cancel.load(std::memory_order_relaxed)) kill(child, SIGTERM);
      if (open) open = append_available(ends[0], text);
      usleep(50000);
    }
    if (open) append_available(ends[0], text);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) text.clear();
  }
  close(ends[0]);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

bool has_file_dialog() {
  return (std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY")) && !found_program().empty();
}

Task<std::filesystem::path> choose_file(Wake wake) {
  return Task<std::filesystem::path>(
      [](Progress& progress) {
        const std::string program = found_program();
        const bool zenity = program.ends_with("zenity");
        return std::filesystem::path(run(
            zenity ? std::vector<std::string>{program, "--file-selection", "--title=Open a model"}
                   : std::vector<std::string>{program, "--getopenfilename"},
            progress.cancel));
      },
      std::move(wake));
}

}  // namespace poprt::inspector
