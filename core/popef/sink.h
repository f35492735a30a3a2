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

// Position 0 is where the first blob may begin, so it has all alignments that FORMAT.md requires.
// The destructor without commit() removes the written bytes if that is possible.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;  // appends; throws FileError
  // Overwrites bytes that were written since the last fix_written().
  virtual void write_at(uint64_t position, std::span<const std::byte> bytes) = 0;
  // Like write_zeros(), for bytes that will be overwritten: until then a file is sparse.
  virtual void extend(uint64_t bytes) { write_zeros(bytes); }
  virtual uint64_t size() const = 0;
  virtual void fix_written() {}  // the bytes written so far will not be overwritten
  virtual void commit() = 0;

  void write_zeros(uint64_t bytes);
};

// The stream of a caller. If it cannot seek, bytes are kept in memory until fix_written().
std::unique_ptr<Sink> stream_sink(std::ostream& stream);

// A new file that replaces `path` at commit(), or never.
std::unique_ptr<Sink> file_sink(const std::string& path);

// Appends to the blobs of a file; if the file does not exist, like file_sink(). The destructor
// without commit() truncates the file to its old size. If the process dies before commit(), readers
// and the next append_sink() ignore the new bytes (kUnfinished in header.h). Adds the names of the
// file's executables to `executables`.
std::unique_ptr<Sink> append_sink(const std::string& path, std::set<std::string>& executables);

}  // namespace poprt::popef
