#include "base/temporaries.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <system_error>

#include "base/error.h"
#include "base/first_use.h"
#include "base/fork_mutex.h"
#include "base/random_seed.h"

namespace poprt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".poprt-", kSuffix = ".tmp";
constexpr auto kBetweenSweeps = std::chrono::minutes(1);

bool consists_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

// Writers create regular files only, so a FIFO or a link with such a name is not removed.
void remove_if_abandoned(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  struct stat info{};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && ::flock(fd, LOCK_EX | LOCK_NB) == 0)
    ::unlink(path.c_str());
  ::close(fd);
}

}  // namespace

std::string temporary_name() {
  // The name differs between processes (process id and random start) and within a process
  // (counter).
  static constinit FirstUse<std::atomic<uint64_t>> counter;
  return fmt::format("{}{}-{:x}{}", kPrefix, ::getpid(),
                     counter.get([] { return std::atomic<uint64_t>(random_seed()); }).fetch_add(1),
                     kSuffix);
}

bool is_temporary_name(std::string_view name) {
  if (name.size() <= kPrefix.size() + kSuffix.size() || !name.starts_with(kPrefix) ||
      !name.ends_with(kSuffix))
    return false;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  const size_t dash = name.find('-');
  return dash != std::string_view::npos && consists_of(name.substr(0, dash), "0123456789") &&
         consists_of(name.substr(dash + 1), "0123456789abcdef");
}

bool lock_temporary(int fd) {
  // If the file system has no locks, the file cannot be swept either.
  while (::flock(fd, LOCK_EX) != 0)
    if (errno != EINTR) return true;
  struct stat info{};
  return ::fstat(fd, &info) == 0 && info.st_nlink > 0;
}

void sweep_temporaries(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator i(folder.empty() ? "." : folder, error), end; !error && i != end;
       i.increment(error))
    if (is_temporary_name(i->path().filename().native())) remove_if_abandoned(i->path());
}

void sweep_temporaries_each_minute(const fs::path& folder) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kMaxRemembered = 1024;
  using Swept = std::map<fs::path, Clock::time_point>;
  static constinit ForkMutex mutex;
  static constinit FirstUse<Swept> made;
  {
    const std::lock_guard lock(mutex);
    // After a fork during a change, another process must sweep.
    if (mutex.abandoned()) return;
    Swept& swept = made.get();
    const Clock::time_point now = Clock::now();
    if (swept.size() >= kMaxRemembered) swept.clear();
    const auto [it, fresh] = swept.try_emplace(folder, now);
    if (!fresh && now - it->second < kBetweenSweeps) return;
    it->second = now;
  }
  sweep_temporaries(folder);
}

}  // namespace poprt
