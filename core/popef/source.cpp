#include "popef/source.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <mutex>

#include "base/file.h"
#include "base/fork_mutex.h"
#include "popef/error.h"

namespace poprt::popef {
namespace {

class MemorySource final : public Source {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes,
               std::shared_ptr<const void> owner)
      : Source(std::move(name)), bytes_(bytes), owner_(std::move(owner)) {}
  uint64_t size() const override { return bytes_.size(); }
  void read(uint64_t offset, std::span<std::byte> out) const override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }
  std::span<const std::byte> memory() const override { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

class StreamSource final : public Source {
 public:
  StreamSource(std::string name, std::shared_ptr<std::istream> stream, std::streampos start,
               uint64_t size)
      : Source(std::move(name)), stream_(std::move(stream)), start_(start), size_(size) {}
  uint64_t size() const override { return size_; }
  void read(uint64_t offset, std::span<std::byte> out) const override {
    const std::lock_guard lock(mutex_);
    if (mutex_.abandoned())
      throw FileError(ErrorCode::failed_precondition,
                      fmt::format("process {} was forked while another thread of its parent read "
                                  "this PopEF stream: open it again",
                                  this_process()));
    stream_->clear();
    stream_->seekg(start_ + static_cast<std::streamoff>(offset));
    stream_->read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
    if (!*stream_)
      throw FileError(
          ErrorCode::data_loss,
          fmt::format("cannot read {} bytes at offset {} of a PopEF stream", out.size(), offset));
  }

 private:
  std::shared_ptr<std::istream> stream_;
  std::streampos start_;
  uint64_t size_;
  mutable ForkMutex mutex_;
};

class StoredContent final : public Content {
 public:
  StoredContent(std::shared_ptr<const Source> source, uint64_t offset, uint64_t bytes)
      : source_(std::move(source)), offset_(offset), bytes_(bytes) {}
  uint64_t size() const override { return bytes_; }
  void read(uint64_t position, std::span<std::byte> out) override {
    source_->read(offset_ + position, out);
  }
  std::span<const std::byte> memory() const override {
    const auto all = source_->memory();
    return all.data() == nullptr ? all : all.subspan(offset_, bytes_);
  }

 private:
  std::shared_ptr<const Source> source_;
  uint64_t offset_, bytes_;
};

// Reads to the end in pieces, so that the memory depends on the actual size only.
std::shared_ptr<const Source> slurp(std::istream& stream, uint64_t limit) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  while (stream && (limit == 0 || bytes->size() < limit)) {
    const size_t at = bytes->size();
    const uint64_t step = limit == 0 ? 1 << 16 : std::min<uint64_t>(limit - at, 1 << 16);
    bytes->resize(at + step);
    stream.read(reinterpret_cast<char*>(bytes->data() + at), static_cast<std::streamsize>(step));
    bytes->resize(at + static_cast<size_t>(stream.gcount()));
  }
  const std::span<const std::byte> view = *bytes;
  return std::make_shared<MemorySource>("stream", view, std::move(bytes));
}

}  // namespace

std::shared_ptr<const Source> open_file_source(const std::string& path) try {
  auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return std::make_shared<MemorySource>(path, bytes, std::move(file));
} catch (const FileError&) {
  throw;
} catch (const poprt::Error& e) {
  // The file may be larger than the address space limit of the process allows, so it is read
  // instead.
  if (e.code() == ErrorCode::resource_exhausted) {
    auto stream = std::make_shared<std::ifstream>(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = stream->tellg();
    if (size > 0)
      return std::make_shared<StreamSource>(path, std::move(stream), 0,
                                            static_cast<uint64_t>(size));
  }
  throw FileError(e.code(), e.message());
}

std::shared_ptr<const Source> memory_source(std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner,
                                            const std::string& name) {
  return std::make_shared<MemorySource>(name, bytes, std::move(owner));
}

std::shared_ptr<const Source> stream_source(std::shared_ptr<std::istream> stream, uint64_t size) {
  if (!stream || !*stream)
    throw FileError(ErrorCode::invalid_argument, "the stream to read PopEF from is not readable");
  const std::streampos start = stream->tellg();
  std::shared_ptr<const Source> source;
  if (start == std::streampos(-1)) {
    stream->clear();
    source = slurp(*stream, size);
  } else {
    stream->seekg(0, std::ios::end);
    const auto end = stream->tellg();
    stream->clear();
    stream->seekg(start);
    const auto left = static_cast<uint64_t>(end < start ? std::streamoff(0) : end - start);
    source = std::make_shared<StreamSource>("stream", std::move(stream), start,
                                            size == 0 ? left : std::min(size, left));
  }
  if (source->size() < size)
    throw FileError(
        ErrorCode::data_loss,
        fmt::format("truncated: the stream has {} bytes, {} were announced", source->size(), size));
  return source;
}

std::unique_ptr<Content> stored_content(std::shared_ptr<const Source> source, uint64_t offset,
                                        uint64_t bytes) {
  return std::make_unique<StoredContent>(std::move(source), offset, bytes);
}

ContentBuffer::ContentBuffer(std::unique_ptr<Content> content) : content_(std::move(content)) {
  const auto memory = content_->memory();
  if (memory.data() == nullptr) return;
  // There is no pbackfail(), so the get area is never written.
  auto* begin = const_cast<char*>(reinterpret_cast<const char*>(memory.data()));
  setg(begin, begin, begin + memory.size());
  end_ = memory.size();
}

ContentBuffer::int_type ContentBuffer::underflow() {
  if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
  const uint64_t left = content_->size() - end_;
  if (left == 0) return traits_type::eof();
  window_.resize(1 << 14);
  const size_t count = std::min<uint64_t>(left, window_.size());
  content_->read(end_, std::as_writable_bytes(std::span(window_.data(), count)));
  end_ += count;
  setg(window_.data(), window_.data(), window_.data() + count);
  return traits_type::to_int_type(*gptr());
}

std::streamsize ContentBuffer::xsgetn(char* out, std::streamsize count) {
  auto wanted = static_cast<uint64_t>(count);
  const uint64_t buffered = std::min(wanted, static_cast<uint64_t>(egptr() - gptr()));
  if (buffered != 0) {
    std::memcpy(out, gptr(), buffered);
    setg(eback(), gptr() + buffered, egptr());
  }
  // Reads the rest directly into the caller's memory.
  const uint64_t direct = std::min(wanted - buffered, content_->size() - position());
  if (direct != 0) {
    content_->read(end_, std::as_writable_bytes(std::span(out + buffered, direct)));
    end_ += direct;
    setg(nullptr, nullptr, nullptr);
  }
  return static_cast<std::streamsize>(buffered + direct);
}

std::streamsize ContentBuffer::showmanyc() {
  const uint64_t left = content_->size() - position();
  return left == 0 ? -1 : static_cast<std::streamsize>(left);
}

ContentBuffer::pos_type ContentBuffer::seekoff(off_type offset, std::ios_base::seekdir from,
                                               std::ios_base::openmode which) {
  uint64_t base = 0;
  if (from == std::ios_base::cur) base = position();
  if (from == std::ios_base::end) base = content_->size();
  off_type target = 0;
  if (__builtin_add_overflow(static_cast<off_type>(base), offset, &target)) return pos_type(-1);
  return seekpos(target, which);
}

ContentBuffer::pos_type ContentBuffer::seekpos(pos_type position, std::ios_base::openmode which) {
  const off_type target = position;
  if ((which & std::ios_base::in) == 0 || target < 0 ||
      static_cast<uint64_t>(target) > content_->size())
    return pos_type(-1);
  if (const auto memory = content_->memory(); memory.data() != nullptr) {
    setg(eback(), eback() + target, egptr());
  } else {
    end_ = static_cast<uint64_t>(target);
    setg(nullptr, nullptr, nullptr);
  }
  return position;
}

DataStream::DataStream(std::shared_ptr<ContentBuffer> buffer)
    : std::istream(buffer.get()), buffer_(std::move(buffer)) {
  exceptions(std::ios::badbit);
}

DataStream& DataStream::operator=(const DataStream& other) {
  buffer_ = other.buffer_;
  rdbuf(buffer_.get());
  return *this;
}

}  // namespace poprt::popef
