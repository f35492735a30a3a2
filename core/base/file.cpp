#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/temporaries.h"

namespace poprt {
namespace {

namespace fs = std::filesystem;

ErrorCode code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return ErrorCode::not_found;
    case EACCES:
    case EPERM:
    case EROFS: return ErrorCode::permission_denied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return ErrorCode::resource_exhausted;
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP: return ErrorCode::invalid_argument;
    case EIO: return ErrorCode::data_loss;
    default: return ErrorCode::unknown;
  }
}

[[noreturn]] void fail_errno(std::string_view what, const fs::path& path, int error) {
  fail(code_of(error), "cannot {} '{}': {}", what, path.string(),
       std::generic_category().message(error));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

std::string link_to(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

// Opens a file without a name. The system removes it when the process ends for any reason. Returns
// -1 if the file system does not support such files, or if /proc is missing, because the file gets
// its name through /proc.
int open_unnamed(const fs::path& folder) {
  if (std::getenv("POPRT_NAMED_TEMPORARIES")) return -1;
  const int fd =
      ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd < 0) return -1;
  // The lock shows that the file has a writer while it has a temporary name.
  if (::access(link_to(fd).c_str(), F_OK) == 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  ::close(fd);
  return -1;
}

// Creates a file with a temporary name in `folder` and locks it. Returns -1 with errno set on
// failure.
int open_named(const fs::path& folder, fs::path& path) {
  constexpr int kAttempts = 100;
  for (int attempt = 0;; attempt++) {
    path = folder / temporary_name();
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 && lock_temporary(fd)) return fd;
    if (fd >= 0) ::close(fd);
    if ((fd < 0 && errno != EEXIST) || attempt == kAttempts) return -1;
  }
}

int link_at(int fd, const fs::path& path) {
  return ::linkat(AT_FDCWD, link_to(fd).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW);
}

// Blocks SIGXFSZ on this thread, if the size of files is limited, and consumes the signals that
// were raised meanwhile. The signal is raised on the thread that writes.
class SizeSignalBlocker {
 public:
  SizeSignalBlocker() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    sigset_t pending;
    // A signal that is already pending was not raised by this write.
    if (::sigpending(&pending) != 0 || ::sigismember(&pending, SIGXFSZ) != 0) return;
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    blocked_ = ::pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0;
  }
  ~SizeSignalBlocker() {
    if (!blocked_) return;
    const int error = errno;
    const timespec none{};
    while (::sigtimedwait(&signal_, nullptr, &none) >= 0 || errno == EINTR) continue;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  SizeSignalBlocker(const SizeSignalBlocker&) = delete;
  SizeSignalBlocker& operator=(const SizeSignalBlocker&) = delete;

 private:
  sigset_t signal_{}, before_{};
  bool blocked_ = false;
};

}  // namespace

ssize_t write_at(int fd, std::span<const std::byte> bytes, uint64_t offset) {
  const SizeSignalBlocker blocker;
  return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
}

int resize(int fd, uint64_t bytes) {
  const SizeSignalBlocker blocker;
  return ::ftruncate(fd, static_cast<off_t>(bytes));
}

int allocate(int fd, uint64_t bytes) {
  const SizeSignalBlocker blocker;
  return ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
}

std::shared_ptr<const MappedFile> MappedFile::open(const fs::path& path, bool keeps_descriptor) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const bool no_file = file.get() < 0 && errno == ENXIO;  // a socket, or a device without driver
  if (file.get() < 0 && !no_file) fail_errno("open", path, errno);
  struct stat info{};
  if (!no_file && ::fstat(file.get(), &info) != 0) fail_errno("open", path, errno);
  if (no_file || !S_ISREG(info.st_mode))
    fail(ErrorCode::invalid_argument, "cannot read '{}': expected a regular file, found {}",
         path.string(), S_ISDIR(info.st_mode) ? "a directory" : "a device, pipe or socket");
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->path_ = path;
  mapped->owner_ = info.st_uid;
  if (info.st_size == 0) return mapped;  // mmap refuses length 0
  const auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) fail_errno("map", path, errno);
  mapped->data_ = static_cast<const std::byte*>(data);
  mapped->size_ = size;
  if (keeps_descriptor) mapped->fd_ = file.release();
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
  if (fd_ >= 0) ::close(fd_);
}

void MappedFile::read(uint64_t offset, std::span<std::byte> to) const {
  POPRT_ASSERT(offset <= size_ && to.size() <= size_ - offset);
  while (!to.empty()) {
    const ssize_t n = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("read", path_, errno);
    if (n == 0)
      fail(ErrorCode::data_loss, "'{}' was truncated while it was used: it ends at {} of {} bytes",
           path_.string(), offset, size_);
    to = to.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
}

void copy_mapped(std::span<const std::byte> from, std::span<std::byte> to) {
  POPRT_ASSERT(from.size() == to.size());
  constexpr size_t kPiece = size_t{1} << 30;  // one call copies less than 2 GiB
  for (size_t at = 0; at < from.size();) {
    const size_t bytes = std::min(from.size() - at, kPiece);
    // The kernel copies, so a page that is missing is an error instead of a signal.
    const iovec target{to.data() + at, bytes};
    const iovec source{const_cast<std::byte*>(from.data() + at), bytes};
    const ssize_t done = ::process_vm_readv(::getpid(), &target, 1, &source, 1, 0);
    if (done > 0) {
      at += static_cast<size_t>(done);
    } else if (done < 0 && (errno == EPERM || errno == ENOSYS)) {
      std::memcpy(to.data() + at, from.data() + at, bytes);  // a sandbox without the call
      at += bytes;
    } else {
      fail(ErrorCode::data_loss, "a file was truncated while it was used: {} bytes of {} are left",
           at, from.size());
    }
  }
}

fs::path resolve_links(fs::path path) {
  constexpr int kMost = 40;  // the system follows as many
  std::error_code error;
  for (int i = 0; i < kMost && fs::is_symlink(path, error); i++) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;  // an absolute target replaces the path
  }
  return path;
}

AtomicFile::AtomicFile(fs::path path) : path_(resolve_links(std::move(path))) {
  std::error_code ignored;
  if (fs::is_symlink(path_, ignored)) fail_errno("write", path_, ELOOP);
  const fs::file_status status = fs::status(path_, ignored);
  if (path_.filename().empty() || status.type() == fs::file_type::directory)
    fail(ErrorCode::invalid_argument, "cannot write '{}': expected a file name, found a directory",
         path_.string());
  // Renaming over a device node would destroy it.
  if (fs::exists(status) && status.type() != fs::file_type::regular)
    fail(ErrorCode::invalid_argument,
         "cannot write '{}': expected a regular file, found a device, pipe or socket",
         path_.string());
  const fs::path folder = path_.parent_path();
  sweep_temporaries_each_minute(folder);
  fd_ = open_unnamed(folder);
  if (fd_ < 0) fd_ = open_named(folder, temporary_);
  if (fd_ < 0) fail_errno("create", path_, errno);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (fd_ < 0) return;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  ::close(fd_);
  fd_ = -1;
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  const uint64_t at = size_;
  size_ += bytes.size();
  write_at(at, bytes);
}

void AtomicFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  POPRT_ASSERT(fd_ >= 0 && offset <= size_ && bytes.size() <= size_ - offset);
  while (!bytes.empty()) {
    const ssize_t n = poprt::write_at(fd_, bytes, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_errno("write", path_, n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
}

void AtomicFile::extend(uint64_t bytes) {
  POPRT_ASSERT(fd_ >= 0);
  uint64_t size = 0;
  if (__builtin_add_overflow(size_, bytes, &size) || resize(fd_, size) != 0)
    fail_errno("write", path_, size < size_ ? EFBIG : errno);
  size_ = size;
}

void AtomicFile::reserve(uint64_t bytes) {
  POPRT_ASSERT(fd_ >= 0);
  constexpr uint64_t kWorthIt = uint64_t{1} << 22;
  if (bytes < kWorthIt || bytes > INT64_MAX - size_) return;
  const SizeSignalBlocker blocker;  // tmpfs compares with the limit although the size stays
  (void)::fallocate(fd_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size_), static_cast<off_t>(bytes));
  reserved_ = std::max(reserved_, size_ + bytes);
}

void AtomicFile::commit() {
  flush();
  if (!give_name()) fail_write();
  ::close(fd_);
  fd_ = -1;
}

void AtomicFile::fail_write() {
  const int error = errno;
  discard();
  fail_errno("write", path_, error);
}

// close() reports delayed write errors of network file systems. Closing a copy of the descriptor
// keeps the lock.
void AtomicFile::flush() {
  POPRT_ASSERT(fd_ >= 0);
  if (reserved_ > size_ && resize(fd_, size_) != 0) fail_write();  // gives the rest back
  const int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (copy >= 0 && ::close(copy) != 0 && errno != EINTR) fail_write();
}

bool AtomicFile::give_name() {
  if (temporary_.empty()) {
    if (link_at(fd_, path_) == 0) return true;
    if (errno != EEXIST) return false;
    // linkat() cannot replace a file, but rename() can. So the file has a temporary name between
    // the two calls.
    fs::path name = path_.parent_path() / temporary_name();
    if (link_at(fd_, name) != 0) return false;
    temporary_ = std::move(name);
  }
  return ::rename(temporary_.c_str(), path_.c_str()) == 0;
}

}  // namespace poprt
