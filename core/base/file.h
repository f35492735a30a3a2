// Read-only memory maps, and atomic writing of files.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace poprt {

// A whole file mapped read-only (MAP_PRIVATE). The shared_ptr must live as long as the bytes are
// used. If another process truncates the file, reading the bytes raises SIGBUS.
class MappedFile {
 public:
  // Throws not_found, permission_denied, invalid_argument (a directory, device, pipe or socket, a
  // cycle of links or a name that is too long), resource_exhausted (too many open files, or the
  // address space is too small), data_loss (an I/O error) or unknown (other errors of the system),
  // with the path in the message. `keeps_descriptor` keeps the file open for read().
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path,
                                                bool keeps_descriptor = false);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }
  uid_t owner() const { return owner_; }  // the user that owned the file when it was opened

  // Copies the bytes at `offset`, which must be in the file as it was opened. Reading a whole file
  // costs less than mapping its pages. Requires `keeps_descriptor`. Throws data_loss if another
  // process has truncated the file or for an I/O error. Thread-safe.
  void read(uint64_t offset, std::span<std::byte> to) const;

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  uid_t owner_ = 0;
  int fd_ = -1;
};

// Copies bytes of a memory map. Throws data_loss if they are no longer there because the file was
// truncated; memcpy() would raise SIGBUS, and does so in a sandbox that forbids process_vm_readv().
void copy_mapped(std::span<const std::byte> from, std::span<std::byte> to);

// pwrite(), ftruncate() and posix_fallocate() of the first bytes, except that a file larger than
// the limit of the process (RLIMIT_FSIZE) is the error EFBIG and does not raise SIGXFSZ. allocate()
// returns the number of the error, or 0.
ssize_t write_at(int fd, std::span<const std::byte> bytes, uint64_t offset);
int resize(int fd, uint64_t bytes);
int allocate(int fd, uint64_t bytes);

// Returns the path that open() would reach through symbolic links. The target of the last link need
// not exist. If the links form a cycle, the result is one of the links, and opening it fails.
std::filesystem::path resolve_links(std::filesystem::path path);

// A file that is written completely or not at all. Until commit(), `path` keeps its contents;
// commit() replaces it. If `path` is a symbolic link, the link stays and its target is replaced or
// created. This holds if the process dies, but not for a loss of power, because fsync() is not
// called. The new file has the permissions of the umask, not those of the replaced file.
//
// The data goes to a file without a name (O_TMPFILE), so a process that dies leaves nothing. There
// is a temporary file in the folder of `path` in two cases only: while commit() replaces a file,
// and if files without a name are not possible (the file system does not support them, /proc is
// missing, or POPRT_NAMED_TEMPORARIES is set, for tests). If the process is killed then, a later
// AtomicFile in that folder removes the temporary file (base/temporaries.h).
class AtomicFile {
 public:
  // Throws not_found or permission_denied, for example if the folder is missing, resource_exhausted
  // (too many open files, or a full disk), invalid_argument if `path` is a folder, device, pipe or
  // socket, if its links form a cycle or if its name is too long, data_loss for an I/O error, and
  // unknown for other errors of the system. The message has the path. The other functions throw the
  // same errors of the system.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Appends. Throws resource_exhausted if the disk is full or the file becomes too large.
  void write(std::span<const std::byte> bytes);
  // Overwrites bytes that were written before.
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  void extend(uint64_t bytes);  // appends zeros, as a hole if the file system supports it
  // Announces that `bytes` will be appended, so that the file system finds room for all of them at
  // once. This is a hint: errors appear when the bytes are written.
  void reserve(uint64_t bytes);
  uint64_t size() const { return size_; }
  // Reports delayed errors of what was written, so that commit(), which does the same, has little
  // more to do than to give the file its name. Writers of several files that belong together call
  // it for each file before they commit any of them.
  void flush();
  // Gives the file its name. May be called once, as the last function. If it throws, `path` keeps
  // its contents.
  void commit();

 private:
  void discard();
  [[noreturn]] void fail_write();  // with errno set
  bool give_name();                // returns false with errno set

  std::filesystem::path path_, temporary_;  // temporary_ is empty while the file has no name
  int fd_ = -1;
  uint64_t size_ = 0, reserved_ = 0;
};

}  // namespace poprt
