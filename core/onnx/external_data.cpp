#include "onnx/external_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "codecs/sha1.h"
#include "onnx/elem_type.h"

namespace poprt::onnx {
namespace {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  void reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::vector<std::string> components(std::string_view location) {
  auto refuse = [&](std::string_view why) {
    fail(ErrorCode::invalid_argument,
         "external data location {} {}; it must be a path inside the model's directory",
         quote_name(location), why);
  };
  if (location.empty()) refuse("is empty");
  if (location.front() == '/') refuse("is absolute");
  if (location.find('\0') != std::string_view::npos) refuse("contains a NUL byte");
  std::vector<std::string> parts;
  for (size_t at = 0; at <= location.size();) {
    const size_t end = std::min(location.find('/', at), location.size());
    const std::string_view part = location.substr(at, end - at);
    if (part == "..") refuse("goes up with '..'");
    if (part.empty()) refuse("has an empty component");
    if (part != ".") parts.emplace_back(part);
    at = end + 1;
  }
  if (parts.empty()) refuse("names no file");
  return parts;
}

[[noreturn]] void fail_open(std::string_view location, int error) {
  if (error == ENOENT)
    fail(ErrorCode::not_found, "external data file {} is missing", quote_name(location));
  if (error == ELOOP || error == ENOTDIR)
    fail(ErrorCode::invalid_argument,
         "external data file {} is reached through a symbolic link or through something that is no "
         "directory; links are refused without `allow_links`",
         quote_name(location));
  fail(error == EACCES                      ? ErrorCode::permission_denied
       : error == EMFILE || error == ENFILE ? ErrorCode::resource_exhausted
                                            : ErrorCode::invalid_argument,
       "cannot open external data file {}: {}", quote_name(location), std::strerror(error));
}

// Returns `size` zero bytes in an anonymous mapping, whose pages need no memory until they are
// written. Tensors of at least kLeast bytes begin with `number`, because passes would merge equal
// constants and remove additions of zero; only their first page is written.
ExternalFiles::Bytes zeros_of(std::string_view location, uint64_t size, uint64_t number) {
  constexpr uint64_t kLeast = 256;  // bytes; smaller tensors may be shapes or axes
  ExternalFiles::Bytes out;
  if (size == 0) return out;
  void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    fail(ErrorCode::resource_exhausted, "no address space for {} bytes of {}", size,
         quote_name(location));
  if (size >= kLeast) std::memcpy(p, &number, sizeof number);
  out.owner = std::shared_ptr<const void>(
      p, [size](const void* q) { ::munmap(const_cast<void*>(q), size); });
  out.bytes = {static_cast<const std::byte*>(p), size};
  return out;
}

}  // namespace

ExternalFiles::Bytes ExternalFiles::map(std::string_view location) {
  if (const auto it = maps_.find(location); it != maps_.end()) return it->second;
  if (!directory_)
    fail(ErrorCode::invalid_argument,
         "external data file {} cannot be found: the model was given without a directory",
         quote_name(location));
  const std::vector<std::string> parts = components(location);

  // Opens one component at a time, without following links unless `allow_links_` is set. So no file
  // outside the directory is opened without `allow_links_`, even if the directory changes at the
  // same time.
  const int no_follow = allow_links_ ? 0 : O_NOFOLLOW;
  const std::string top = directory_->empty() ? "." : directory_->string();
  Fd at(::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) fail_open(location, errno);
  for (size_t i = 0; i + 1 < parts.size(); i++) {
    const int next =
        ::openat(at.get(), parts[i].c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | no_follow);
    if (next < 0) fail_open(location, errno);
    at.reset(next);
  }
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Fd file(
      ::openat(at.get(), parts.back().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | no_follow));
  if (file.get() < 0) fail_open(location, errno);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) fail_open(location, errno);
  if (!S_ISREG(info.st_mode))
    fail(ErrorCode::invalid_argument, "external data file {} is not a regular file",
         quote_name(location));
  if (info.st_nlink != 1 && !allow_links_)
    fail(ErrorCode::invalid_argument,
         "external data file {} has {} hard links; links are refused without `allow_links`",
         quote_name(location), info.st_nlink);

  Bytes out;
  if (info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (p == MAP_FAILED) fail_open(location, errno);
    out.owner = std::shared_ptr<const void>(
        p, [size](const void* q) { ::munmap(const_cast<void*>(q), size); });
    out.bytes = {static_cast<const std::byte*>(p), size};
  }
  maps_.emplace(location, out);
  return out;
}

void ExternalFiles::check_sha1(std::string_view location, std::string_view checksum) {
  std::string expected(checksum);
  for (char& c : expected)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  constexpr size_t kDigits = 40;
  if (expected.size() != kDigits || expected.find_first_not_of("0123456789abcdef") != expected.npos)
    fail(ErrorCode::invalid_argument,
         "checksum {} of external data file {} is no SHA-1, which has 40 hexadecimal digits",
         quote_name(checksum), quote_name(location));
  Bytes whole;
  try {
    whole = map(location);
  } catch (const Error& e) {
    if (zeros_ && e.code() == ErrorCode::not_found) return;
    throw;
  }
  const auto [it, is_new] = sha1_.try_emplace(std::string(location));
  if (is_new) it->second = sha1_of_map(whole.bytes);
  if (it->second != expected)
    fail(ErrorCode::data_loss,
         "external data file {} is damaged or another file: its SHA-1 is {}, the model has {}",
         quote_name(location), it->second, expected);
}

std::string ExternalFiles::sha1_of_map(std::span<const std::byte> bytes) const {
  if (!copy_) return sha1_of(bytes);
  constexpr size_t kPiece = size_t{1} << 18;
  Sha1 hash;
  std::vector<std::byte> piece;
  for (size_t at = 0; at < bytes.size(); at += piece.size()) {
    piece.resize(std::min(kPiece, bytes.size() - at));
    copy_mapped(bytes.subspan(at, piece.size()), piece);
    hash.add(piece);
  }
  return hash.finish();
}

ExternalFiles::Bytes ExternalFiles::read(std::string_view location, uint64_t offset,
                                         std::optional<uint64_t> length, uint64_t expected) {
  Bytes whole;
  try {
    whole = map(location);
  } catch (const Error& e) {
    if (!zeros_ || e.code() != ErrorCode::not_found) throw;
    return zeros_of(location, length.value_or(expected), ++missing_);
  }
  const uint64_t size = whole.bytes.size();
  if (offset > size || (length && *length > size - offset))
    fail(ErrorCode::data_loss,
         "external data file {} has {} bytes; offset {}, length {} is outside of it",
         quote_name(location), size, offset, length ? std::to_string(*length) : "to the end");
  whole.bytes = whole.bytes.subspan(offset, length.value_or(size - offset));
  if (!copy_) return whole;
  // The alignment of a map, so that tensors can use the bytes in place.
  constexpr size_t kAlignment = 4096;
  const size_t bytes = whole.bytes.size();
  const std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(
          ::operator new(std::max<size_t>(bytes, 1), std::align_val_t{kAlignment})),
      [](std::byte* p) { ::operator delete(p, std::align_val_t{kAlignment}); });
  copy_mapped(whole.bytes, {memory.get(), bytes});
  return {{memory.get(), bytes}, memory};
}

}  // namespace poprt::onnx
