#include "popef/sink.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "popef/error.h"
#include "popef/header.h"
#include "popef/reader.h"

namespace poprt::popef {
namespace {

class StreamSink final : public Sink {
 public:
  explicit StreamSink(std::ostream& stream)
      : stream_(stream), start_(stream.tellp()), seekable_(start_ != std::streampos(-1)) {
    check();
  }
  void write(std::span<const std::byte> bytes) override {
    size_ += bytes.size();
    if (seekable_) {
      put(bytes);
    } else {
      pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    }
  }
  void write_at(uint64_t position, std::span<const std::byte> bytes) override {
    if (seekable_) {
      stream_.seekp(start_ + static_cast<std::streamoff>(position));
      put(bytes);
      stream_.seekp(start_ + static_cast<std::streamoff>(size_));
      check();
    } else {
      const uint64_t at = position - (size_ - pending_.size());
      if (!bytes.empty()) std::memcpy(pending_.data() + at, bytes.data(), bytes.size());
    }
  }
  uint64_t size() const override { return size_; }
  void fix_written() override {
    if (seekable_) return;
    put(pending_);
    pending_.clear();
  }
  void commit() override {
    stream_.flush();
    check();
  }

 private:
  void put(std::span<const std::byte> bytes) {
    stream_.write(reinterpret_cast<const char*>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
    check();
  }
  void check() const {
    if (!stream_)
      throw FileError(ErrorCode::resource_exhausted,
                      fmt::format("cannot write PopEF: the stream failed after {} bytes", size_));
  }

  std::ostream& stream_;
  std::streampos start_;
  bool seekable_;
  uint64_t size_ = 0;
  std::vector<std::byte> pending_;
};

// The functions of base/ throw poprt::Error; callers expect FileError.
template <class F>
decltype(auto) as_file_error(F f) {
  try {
    return f();
  } catch (const Error&) {
    throw;
  } catch (const poprt::Error& e) {
    throw FileError(e.code(), e.message());
  }
}

class FileSink final : public Sink {
 public:
  explicit FileSink(const std::string& path) : file_(path) {}
  void write(std::span<const std::byte> bytes) override {
    as_file_error([&] { file_.write(bytes); });
  }
  void write_at(uint64_t position, std::span<const std::byte> bytes) override {
    as_file_error([&] { file_.write_at(position, bytes); });
  }
  void extend(uint64_t bytes) override {
    as_file_error([&] { file_.extend(bytes); });
  }
  void reserve(uint64_t bytes) override { file_.reserve(bytes); }
  uint64_t size() const override { return file_.size(); }
  void commit() override {
    as_file_error([&] { file_.commit(); });
  }

 private:
  AtomicFile file_;
};

class AppendSink final : public Sink {
 public:
  AppendSink(const std::string& path, std::set<std::string>& executables)
      : path_(path), fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0) fail("open");
    try {
      if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) fail("lock");
      Reader reader;
      reader.parseFile(path);
      for (const auto& executable : reader.executables()) executables.insert(executable.name);
      old_size_ = size_ = reader.parsedBytes();
      // Removes the rest of an append whose process died.
      if (::ftruncate(fd_, static_cast<off_t>(old_size_)) != 0) fail("write");
    } catch (...) {
      ::close(fd_);
      throw;
    }
  }
  ~AppendSink() override {
    if (fd_ < 0) return;
    // If even this fails, nothing more can be done; readers then ignore the unfinished blob.
    if (changed_) (void)!::ftruncate(fd_, static_cast<off_t>(old_size_));
    ::close(fd_);
  }
  void write(std::span<const std::byte> bytes) override {
    if (size_ == old_size_ && !bytes.empty()) {
      // commit() writes the first header. Until then readers see only the old blobs.
      put(size_, unfinished_header());
      size_ += kHeaderBytes;
      POPRT_ASSERT(bytes.size() == kHeaderBytes);
      return;
    }
    put(size_, bytes);
    size_ += bytes.size();
  }
  void write_at(uint64_t position, std::span<const std::byte> bytes) override {
    if (position == old_size_) {
      POPRT_ASSERT(bytes.size() == kHeaderBytes);
      std::copy(bytes.begin(), bytes.end(), first_header_.begin());
    } else {
      put(position, bytes);
    }
  }
  void extend(uint64_t bytes) override {
    changed_ = true;
    if (resize(fd_, size_ + bytes) != 0) fail("write");
    size_ += bytes;
  }
  uint64_t size() const override { return size_; }
  void commit() override {
    if (size_ != old_size_) {
      if (::fdatasync(fd_) != 0) fail("write");
      put(old_size_, first_header_);
    }
    old_size_ = size_;
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) != 0) fail("write");
  }

 private:
  void put(uint64_t position, std::span<const std::byte> bytes) {
    changed_ = true;
    while (!bytes.empty()) {
      const ssize_t n = poprt::write_at(fd_, bytes, position);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail("write");
      bytes = bytes.subspan(static_cast<size_t>(n));
      position += static_cast<uint64_t>(n);
    }
  }
  [[noreturn]] void fail(const char* what) const {
    const int error = errno;
    ErrorCode code = ErrorCode::unknown;
    if (error == ENOENT || error == ENOTDIR) code = ErrorCode::not_found;
    if (error == EACCES || error == EPERM || error == EROFS) code = ErrorCode::permission_denied;
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) code = ErrorCode::resource_exhausted;
    if (error == EISDIR) code = ErrorCode::invalid_argument;
    if (error == EWOULDBLOCK) code = ErrorCode::unavailable;
    throw FileError(code, fmt::format("cannot {} '{}': {}", what, path_,
                                      std::generic_category().message(error)));
  }

  std::string path_;
  int fd_;
  uint64_t size_ = 0, old_size_ = 0;
  bool changed_ = false;  // whether a write has begun, which may have failed after some bytes
  std::array<std::byte, kHeaderBytes> first_header_{};
};

}  // namespace

void Sink::write_zeros(uint64_t bytes) {
  static constexpr std::array<std::byte, kExecutableAlignment> kZeros{};
  while (bytes != 0) {
    const uint64_t step = std::min<uint64_t>(bytes, kZeros.size());
    write(std::span(kZeros).first(step));
    bytes -= step;
  }
}

std::unique_ptr<Sink> stream_sink(std::ostream& stream) {
  return std::make_unique<StreamSink>(stream);
}

std::unique_ptr<Sink> file_sink(const std::string& path) {
  return as_file_error([&] { return std::make_unique<FileSink>(path); });
}

std::unique_ptr<Sink> append_sink(const std::string& path, std::set<std::string>& executables) {
  if (!std::filesystem::exists(path)) return file_sink(path);
  return std::make_unique<AppendSink>(path, executables);
}

}  // namespace poprt::popef
