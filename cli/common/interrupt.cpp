#include "common/interrupt.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

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

// Empty places are null and 0.
std::array<std::atomic<const char*>, 64> removed_paths;
std::array<std::atomic<pid_t>, 64> ended_children;
// The process whose files and children these are. A forked child has a copy of the places.
std::atomic<pid_t> places_owner;

void clear_after_fork() {
  const pid_t before = places_owner.exchange(::getpid());
  if (before == 0 || before == ::getpid()) return;
  for (auto& place : removed_paths) place = nullptr;
  for (auto& place : ended_children) place = 0;
}

// Puts the value into an empty place and returns the place, or null if there is none.
template <class Places, class T>
auto* put(Places& places, T value) {
  clear_after_fork();
  for (auto& place : places) {
    T empty{};
    if (place.compare_exchange_strong(empty, value)) return &place;
  }
  return static_cast<std::atomic<T>*>(nullptr);
}

// The following functions and remove_temporaries() run in signal handlers and may call only
// async-signal-safe functions.

template <class F>
void for_each_entry(int folder, F&& f) {
  alignas(Entry) char entries[1024];
  for (;;) {
    const long size = ::syscall(SYS_getdents64, folder, entries, sizeof entries);
    if (size <= 0) return;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries + at);
      at += entry->bytes;
      f(entry->name);
    }
  }
}

// Removes a file, or a folder with its contents. Symbolic links are not followed.
void remove_tree(int folder, const char* name) {
  if (::unlinkat(folder, name, 0) == 0) return;
  const int inner = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (inner < 0) return;
  for_each_entry(inner, [&](const char* entry) {
    if (std::strcmp(entry, ".") != 0 && std::strcmp(entry, "..") != 0) remove_tree(inner, entry);
  });
  ::close(inner);
  (void)::unlinkat(folder, name, AT_REMOVEDIR);
}

void end_children() {
  for (auto& place : ended_children)
    if (const pid_t child = place.load(); child > 0) {
      ::kill(child, SIGKILL);
      while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
}

// `descriptors` is /proc/self/fd.
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
  if (places_owner.load() == ::getpid()) {
    end_children();  // they write to the files below
    for (auto& place : removed_paths)
      if (const char* path = place.load()) remove_tree(AT_FDCWD, path);
  }
  const int descriptors = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptors < 0) return;
  for_each_entry(descriptors,
                 [&](const char* number) { remove_if_temporary(descriptors, number); });
  ::close(descriptors);
}

RemovedWithUs::RemovedWithUs(std::string path)
    : path_(std::move(path)), slot_(put(removed_paths, path_.c_str())) {}
RemovedWithUs::~RemovedWithUs() {
  if (slot_) slot_->store(nullptr);
}

EndedWithUs::EndedWithUs(pid_t child) : slot_(put(ended_children, child)) {}
EndedWithUs::~EndedWithUs() {
  if (slot_) slot_->store(0);
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
