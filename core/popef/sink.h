// The target of a writer: sequential bytes, and overwriting of recent ones for headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <set>
#include <span>
#include <string>

namespace poprt::popef {

// Positions count from the beginning of the file, or from the first position in a stream. Position
// 0 of a stream must have all alignments that FORMAT.md requires (Writer states this to its
// callers). If commit() was not called, the destructor removes the written bytes if that is
// possible.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;  // appends; throws FileError
  // Overwrites bytes that were written since the last fix_written(). file_sink() can overwrite all
  // bytes.
  virtual void write_at(uint64_t position, std::span<const std::byte> bytes) = 0;
  // Like write_zeros(), for bytes that will be overwritten: until then a file is sparse.
  virtual void extend(uint64_t bytes) { write_zeros(bytes); }
  virtual void reserve(uint64_t) {}  // a hint: the number of bytes that will be written
  virtual uint64_t size() const = 0;
  virtual void fix_written() {}  // lets a sink pass on the bytes written so far
  virtual void commit() = 0;

  void write_zeros(uint64_t bytes);
};

// The stream of a caller. If it cannot seek, bytes are kept in memory until fix_written().
std::unique_ptr<Sink> stream_sink(std::ostream& stream);

// A new file that replaces `path` at commit(). Without commit(), `path` does not change.
std::unique_ptr<Sink> file_sink(const std::string& path);

// Appends to the blobs of a file; if the file does not exist, this function is equivalent to
// file_sink(). If commit() was not called, the destructor truncates the file to its old size. If
// the process dies before commit(), readers and the next append_sink() ignore the new bytes
// (kUnfinished in header.h). Adds the names of the executables in the file to `executables`. Throws
// like Reader::parseFile(), and FileError if the file cannot be written or (unavailable) another
// writer appends to it.
std::unique_ptr<Sink> append_sink(const std::string& path, std::set<std::string>& executables);

}  // namespace poprt::popef
