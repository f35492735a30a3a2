// Where a writer puts bytes, with the little going back that headers need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <set>
#include <span>
#include <string>

namespace poprt::popef {

// Positions count from where the first blob may start, a place with all alignments that FORMAT.md
// asks for. Destruction without commit() takes back whatever the sink can take back.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;  // at the end; throws FileError
  // Overwrites bytes that were written since the last settle().
  virtual void write_at(uint64_t position, std::span<const std::byte> bytes) = 0;
  // As write_zeros(), for room that will be overwritten: files stay sparse until then.
  virtual void extend(uint64_t bytes) { write_zeros(bytes); }
  virtual uint64_t size() const = 0;
  virtual void settle() {}  // nothing before the end will be overwritten any more
  virtual void commit() = 0;

  void write_zeros(uint64_t bytes);
};

// A caller's stream. One that cannot seek gets a blob when it is settled, from memory.
std::unique_ptr<Sink> stream_sink(std::ostream& stream);

// A new file in place of `path`: it appears with commit(), or never.
std::unique_ptr<Sink> file_sink(const std::string& path);

// After the blobs that the file has, or as file_sink() when there is none. Destruction without
// commit() cuts the file back to its old size; when the process dies before commit(), readers and
// the next append_sink() take the file for what it was (kUnfinished in header.h). Adds the names of
// its executables to `executables`.
std::unique_ptr<Sink> append_sink(const std::string& path, std::set<std::string>& executables);

}  // namespace poprt::popef
