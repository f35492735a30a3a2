// The input of a reader (a mapped file, memory of the caller or a stream), and streams over a blob.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <span>
#include <streambuf>
#include <string>
#include <vector>

namespace poprt::popef {

// Random access to bytes that do not change. Thread-safe.
class Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  // Throws FileError if the bytes cannot be read. The range must be inside size().
  virtual void read(uint64_t offset, std::span<std::byte> out) const = 0;
  // All bytes if they are in memory or mapped; otherwise data() is null.
  virtual std::span<const std::byte> memory() const { return {}; }
  const std::string& name() const { return name_; }  // a path, "stream" or "memory"

 protected:
  explicit Source(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

// Maps the file, or reads it on demand if the address space is too small. Throws FileError.
std::shared_ptr<const Source> open_file_source(const std::string& path);

std::shared_ptr<const Source> memory_source(std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner,
                                            const std::string& name = "memory");

// `size` bytes from the current position (0: all that follow). A seekable stream is read on demand,
// under a lock; any other is read into memory now. Throws FileError if the stream has fewer bytes.
std::shared_ptr<const Source> stream_source(std::shared_ptr<std::istream> stream, uint64_t size);

// The decompressed bytes of one blob's payload, for sequential and random reading.
class Content {
 public:
  virtual ~Content() = default;
  virtual uint64_t size() const = 0;
  // Fills `out` from `position`; the range must be inside size(). Throws FormatError if the stored
  // bytes are invalid, and FileError if they cannot be read. Only one thread may use it at a time.
  virtual void read(uint64_t position, std::span<std::byte> out) = 0;
  virtual std::span<const std::byte> memory() const { return {}; }
};

std::unique_ptr<Content> stored_content(std::shared_ptr<const Source> source, uint64_t offset,
                                        uint64_t bytes);

// A read-only seekable stream buffer over a Content. For contents in memory it copies nothing.
class ContentBuffer : public std::streambuf {
 public:
  explicit ContentBuffer(std::unique_ptr<Content> content);
  uint64_t size() const { return content_->size(); }

 protected:
  int_type underflow() override;
  std::streamsize xsgetn(char* out, std::streamsize count) override;
  std::streamsize showmanyc() override;
  pos_type seekoff(off_type offset, std::ios_base::seekdir from,
                   std::ios_base::openmode which) override;
  pos_type seekpos(pos_type position, std::ios_base::openmode which) override;

 private:
  uint64_t position() const { return end_ - static_cast<uint64_t>(egptr() - gptr()); }

  std::unique_ptr<Content> content_;
  std::vector<char> window_;
  uint64_t end_ = 0;  // position of egptr() in the content
};

// An istream over a blob's payload. Copies share the buffer and so the position. The read call
// throws FormatError if the payload is invalid, and FileError if the source cannot be read.
class DataStream : public std::istream {
 public:
  explicit DataStream(std::shared_ptr<ContentBuffer> buffer);
  DataStream(const DataStream& other) : DataStream(other.buffer_) {}
  DataStream& operator=(const DataStream& other);

 private:
  std::shared_ptr<ContentBuffer> buffer_;
};

}  // namespace poprt::popef
