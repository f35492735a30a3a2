#include "common/interrupt.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace poprt::cli {
namespace {

// A directory entry as the system call getdents64 returns it.
struct Entry {
  uint64_t inode;
  int64_t offset;
  uint16_t bytes;
  uint8_t type;
  char name[1];
};

char prefix[32];  // prefix of the names of this process's temporary files

// This function, interrupted() and remove_temporaries() run in signal handlers and may call only
// async-signal-safe functions. `descriptors` is /proc/self/fd.
void remove_if_temporary(int descriptors, const char* number) {
  char path[PATH_MAX];
  const ssize_t size = ::readlinkat(descriptors, number, path, sizeof path - 1);
  if (size <= 0) return;
  path[size] = '\0';
  const char* slash = std::strrchr(path, '/');
  if (slash && std::strncmp(slash + 1, prefix, std::strlen(prefix)) == 0) ::unlink(path);
}

void interrupted(int signal) {
  remove_temporaries();
  // SA_RESETHAND has restored the default action, which takes effect when the handler returns.
  ::raise(signal);
}

}  // namespace

void remove_temporaries() {
  const int descriptors = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptors < 0) return;
  alignas(Entry) char entries[4096];
  for (;;) {
    const long size = ::syscall(SYS_getdents64, descriptors, entries, sizeof entries);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries + at);
      remove_if_temporary(descriptors, entry->name);
      at += entry->bytes;
    }
  }
  ::close(descriptors);
}

void remove_temporaries_when_interrupted() {
  const auto end = fmt::format_to_n(prefix, sizeof prefix - 1, ".poprt-{}-", ::getpid());
  *end.out = '\0';
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = interrupted;
    action.sa_flags = SA_RESETHAND;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace poprt::cli
