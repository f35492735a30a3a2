#include "common/read_pieces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "common/abi.h"

namespace poprt::cli {
namespace {

using std::chrono::steady_clock;
constexpr std::chrono::seconds kUntilWriter{10}, kSilence{600};
constexpr uint64_t kMostOfDevice = uint64_t{16} << 20;

// A descriptor that is closed unless it is the standard input.
class Opened {
 public:
  explicit Opened(const std::string& path)
      : fd_(path == "-" ? STDIN_FILENO
                        // O_NONBLOCK: opening a FIFO must not wait for a writer.
                        : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~Opened() {
    if (fd_ > STDIN_FILENO) ::close(fd_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Waits until bytes or the end of the file can be read. Returns false after `time`.
bool wait_for_bytes(int fd, std::chrono::milliseconds time) {
  pollfd poll_of{fd, POLLIN, 0};
  const auto end = steady_clock::now() + time;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now());
    const int ready = ::poll(&poll_of, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready >= 0 || errno != EINTR) return ready != 0;
  }
}

}  // namespace

void read_pieces(const std::string& path, uint64_t most,
                 const std::function<void(std::span<const char>)>& take) {
  const std::string name = path == "-" ? "the standard input" : "'" + path + "'";
  const Opened file(path);
  struct stat info{};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0)
    throw Failure(fmt::format("cannot open {}: {}", name, std::strerror(errno)));
  const bool device = S_ISCHR(info.st_mode) && !::isatty(file.get());
  if (device) most = std::min(most, kMostOfDevice);
  const bool named_pipe = S_ISFIFO(info.st_mode) && path != "-";
  std::array<char, 1 << 16> piece;
  uint64_t all = 0;
  bool written = !named_pipe;  // whether a process has opened the pipe for writing
  for (;;) {
    if (!wait_for_bytes(file.get(), written ? kSilence : kUntilWriter)) {
      throw Failure(written
                        ? fmt::format("nothing came from {} for {} seconds", name, kSilence.count())
                        : fmt::format("no process writes to the pipe {}", name));
    }
    const ssize_t bytes = ::read(file.get(), piece.data(), piece.size());
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) {
      written = true;
      continue;
    }
    if (bytes < 0) throw Failure(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
    if (bytes == 0) return;
    written = true;
    all += static_cast<uint64_t>(bytes);
    if (all > most)
      throw Failure(
          fmt::format("{} {}has more than {} bytes", name, device ? "is a device and " : "", most));
    take(std::span(piece).first(static_cast<size_t>(bytes)));
  }
}

}  // namespace poprt::cli
