#include "common/file_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/interrupt.h"

namespace poprt::cli {
namespace {

// The functions in this namespace run in signal handlers and may call only async-signal-safe
// functions.

// Reads a hexadecimal number and moves `text` to its end.
uintptr_t hexadecimal(const char*& text) {
  uintptr_t value = 0;
  for (;; text++) {
    const char c = *text;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return value;
    value = value * 16 + static_cast<uintptr_t>(digit);
  }
}

// The path in a line of /proc/self/maps, "FROM-TO rights offset device inode   PATH", if the line
// contains the address; otherwise null.
const char* path_of(const char* line, uintptr_t address) {
  const uintptr_t from = hexadecimal(line);
  if (*line++ != '-') return nullptr;
  const uintptr_t to = hexadecimal(line);
  return address < from || address >= to ? nullptr : std::strchr(line, '/');
}

// Copies the path of the file that is mapped at the address. Returns false if there is none.
bool find_mapped_file(uintptr_t address, char (&path)[PATH_MAX]) {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  char buffer[2 * PATH_MAX];
  size_t size = 0;
  bool found = false;
  while (!found) {
    const ssize_t n = ::read(maps, buffer + size, sizeof buffer - 1 - size);
    if (n <= 0) break;
    size += static_cast<size_t>(n);
    buffer[size] = '\0';
    const char* line = buffer;
    while (const char* end = std::strchr(line, '\n')) {
      buffer[end - buffer] = '\0';
      if (const char* name = path_of(line, address); name && !found) {
        const size_t length = std::min(std::strlen(name), sizeof path - 1);
        std::memcpy(path, name, length);
        path[length] = '\0';
        found = true;
      }
      line = end + 1;
    }
    size -= static_cast<size_t>(line - buffer);
    std::memmove(buffer, line, size);
    if (size == sizeof buffer - 1) size = 0;  // a line that is too long
  }
  ::close(maps);
  return found;
}

void write_error(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

void truncated(int signal, siginfo_t* info, void*) {
  char path[PATH_MAX];
  // Another fault happens again when the handler returns, and ends the process as usual.
  if (info->si_code != BUS_ADRERR ||
      !find_mapped_file(reinterpret_cast<uintptr_t>(info->si_addr), path)) {
    std::signal(signal, SIG_DFL);
    return;
  }
  remove_temporaries();
  write_error(program_invocation_short_name);
  write_error(": '");
  write_error(path);
  write_error("' was truncated while it was used\n");
  ::_exit(1);
}

// With a handler instead of SIG_IGN, child processes keep the default action.
void write_fails(int) {}

}  // namespace

void handle_file_signals() {
  struct sigaction action{};
  action.sa_sigaction = truncated;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
  struct sigaction before{};
  if (::sigaction(SIGXFSZ, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  struct sigaction limit{};
  limit.sa_handler = write_fails;
  limit.sa_flags = SA_RESTART;
  ::sigaction(SIGXFSZ, &limit, nullptr);
}

}  // namespace poprt::cli
