#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <random>
#include <system_error>

#include "base/error.h"

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

 private:
  int fd_;
};

// Differs between processes (pid, random start) and inside one (counter).
std::string unique_name() {
  static std::atomic<uint64_t> counter{std::random_device{}()};
  return fmt::format(".poprt-{}-{:x}.tmp", ::getpid(), counter.fetch_add(1));
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const fs::path& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail_errno("open", path, errno);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) fail_errno("open", path, errno);
  if (!S_ISREG(info.st_mode))
    fail(ErrorCode::invalid_argument, "cannot read '{}': expected a regular file, found {}",
         path.string(), S_ISDIR(info.st_mode) ? "a directory" : "a device, pipe or socket");
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->path_ = path;
  if (info.st_size == 0) return mapped;  // mmap refuses length 0
  const auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) fail_errno("map", path, errno);
  mapped->data_ = static_cast<const std::byte*>(data);
  mapped->size_ = size;
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  std::error_code ignored;
  // A link stays a link: the file that it names is replaced.
  if (fs::is_symlink(path_, ignored)) {
    const fs::path target = fs::weakly_canonical(path_, ignored);
    if (!ignored) path_ = target;
  }
  const fs::file_status status = fs::status(path_, ignored);
  if (path_.filename().empty() || status.type() == fs::file_type::directory)
    fail(ErrorCode::invalid_argument, "cannot write '{}': expected a file name, found a directory",
         path_.string());
  // Renaming over a device node would destroy it.
  if (fs::exists(status) && status.type() != fs::file_type::regular)
    fail(ErrorCode::invalid_argument,
         "cannot write '{}': expected a regular file, found a device, pipe or socket",
         path_.string());
  for (int attempt = 0; fd_ < 0; attempt++) {
    temporary_ = path_.parent_path() / unique_name();
    fd_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && (errno != EEXIST || attempt == 100)) fail_errno("create", path_, errno);
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  const uint64_t at = size_;
  size_ += bytes.size();
  write_at(at, bytes);
}

void AtomicFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  POPRT_ASSERT(fd_ >= 0 && offset <= size_ && bytes.size() <= size_ - offset);
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_errno("write", path_, n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
}

void AtomicFile::extend(uint64_t bytes) {
  POPRT_ASSERT(fd_ >= 0);
  uint64_t size = 0;
  if (__builtin_add_overflow(size_, bytes, &size) ||
      ::ftruncate(fd_, static_cast<off_t>(size)) != 0)
    fail_errno("write", path_, size < size_ ? EFBIG : errno);
  size_ = size;
}

void AtomicFile::commit() {
  POPRT_ASSERT(fd_ >= 0);
  const int fd = fd_;
  // close() reports delayed write errors of network file systems.
  if (::close(fd) != 0 && errno != EINTR) {
    const int error = errno;
    fd_ = -1;
    ::unlink(temporary_.c_str());
    fail_errno("write", path_, error);
  }
  fd_ = -1;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    fail_errno("write", path_, error);
  }
}

}  // namespace poprt
