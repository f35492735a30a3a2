// Where a reader finds bytes: a mapped file, caller memory or a stream; and the streams over a
// blob.
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

// Random access to bytes that do not change. Safe from any thread.
class Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  // Throws FileError when the bytes cannot be had. The range lies inside size().
  virtual void read(uint64_t offset, std::span<std::byte> out) const = 0;
  // All bytes, when they are in memory or mapped; data() is null otherwise.
  virtual std::span<const std::byte> memory() const { return {}; }
  const std::string& name() const { return name_; }  // a path, or "stream"

 protected:
  explicit Source(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

// Maps the file. Throws FileError.
std::shared_ptr<const Source> open_file_source(const std::string& path);

std::shared_ptr<const Source> memory_source(std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner);

// `size` bytes from the current position on (0: all that follow). A seekable stream is read when
// bytes are asked for, under a lock; another is read into memory now. Throws FileError when the
// stream has fewer bytes.
std::shared_ptr<const Source> stream_source(std::shared_ptr<std::istream> stream, uint64_t size);

// The bytes of one blob's payload, decompressed, read front to back or by position.
class Content {
 public:
  virtual ~Content() = default;
  virtual uint64_t size() const = 0;
  // Fills `out` from `position`; the range lies inside size(). Throws FormatError when the stored
  // bytes are broken. One thread at a time.
  virtual void read(uint64_t position, std::span<std::byte> out) = 0;
  virtual std::span<const std::byte> memory() const { return {}; }
};

std::unique_ptr<Content> stored_content(std::shared_ptr<const Source> source, uint64_t offset,
                                        uint64_t bytes);

// Read-only seekable stream buffer over a Content. Over memory it copies nothing.
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
  uint64_t end_ = 0;  // content position of egptr()
};

// An istream over a blob's payload. Copies share the buffer and so the position. A broken payload
// throws FormatError out of the read call.
class DataStream : public std::istream {
 public:
  explicit DataStream(std::shared_ptr<ContentBuffer> buffer);
  DataStream(const DataStream& other) : DataStream(other.buffer_) {}
  DataStream& operator=(const DataStream& other);

 private:
  std::shared_ptr<ContentBuffer> buffer_;
};

}  // namespace poprt::popef
