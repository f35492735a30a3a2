// Files: read-only maps, and writes that either happen completely or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace poprt {

// A whole file mapped read-only (MAP_PRIVATE). Keep the shared_ptr as long as the bytes are used.
class MappedFile {
 public:
  // Throws not_found / permission_denied / invalid_argument (a directory) naming the path.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// What a link names, as open() finds it, whether that is there or not. Links that go round are left
// to the one who opens them.
std::filesystem::path behind_links(std::filesystem::path path);

// Writes to a file without a name (O_TMPFILE); commit() makes it `path`, in place of what is there.
// A link stays a link: the file that it names is replaced, or made.
// Until then `path` stays what it was, and a process that dies leaves nothing. Where the file
// system has no such files (or POPRT_NAMED_TEMPORARIES is set, for tests) it is a temporary file
// beside `path`; one that a killed process leaves goes with the next AtomicFile in the folder
// (base/temporaries.h).
class AtomicFile {
 public:
  // Throws not_found / permission_denied naming the path (for example when the folder is missing).
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte>
                 bytes);  // at the end; throws resource_exhausted when the disk is full
  void write_at(uint64_t offset, std::span<const std::byte> bytes);  // inside what was written
  void extend(uint64_t bytes);  // zeros at the end, as a hole where the file system can
  uint64_t size() const { return size_; }
  void commit();

 private:
  void discard();
  bool flush();      // false with errno set
  bool take_name();  // false with errno set

  std::filesystem::path path_, temporary_;  // temporary_: empty while the file has no name
  int fd_ = -1;
  uint64_t size_ = 0;
};

}  // namespace poprt
