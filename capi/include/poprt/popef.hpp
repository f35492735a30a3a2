// PopEF files, with the names of the PopEF library: Reader, Writer, FileWriter, ModelBuilder,
// Model.
//
//   popef::FileWriter writer("digits.popef");
//   writer.write(metadata);
//   writer.createExecutable("digits")->write(bytes, size);
//   writer.close();
//
// popef_reader.h and popef_writer.h describe errors, threads and unfinished files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <istream>
#include <memory>
#include <ostream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "poprt/error.hpp"
#include "poprt/popef.h"
#include "poprt/popef_model.h"
#include "poprt/popef_reader.h"
#include "poprt/popef_types.hpp"
#include "poprt/popef_writer.h"

namespace poprt {
inline namespace v1 {

enum class DumpFormat { summary, metadata, all, json, userAnchors, verify };
inline std::string dumpPopef(const std::string& path, DumpFormat format = DumpFormat::summary) {
  poprt_string* text = nullptr;
  detail::check(
      poprt_popef_dump(detail::text(path, "path"), static_cast<poprt_popef_format>(format), &text));
  return detail::take(text);
}

}  // namespace v1
}  // namespace poprt

namespace popef {

// The bytes of a blob, valid as long as a copy of this object exists.
class Payload {
 public:
  explicit Payload(poprt_popef_payload* handle) : handle_(handle, poprt_popef_payload_free) {}
  const char* data() const {
    return static_cast<const char*>(poprt_popef_payload_data(handle_.get()));
  }
  size_t size() const { return poprt_popef_payload_size(handle_.get()); }

 private:
  std::shared_ptr<poprt_popef_payload> handle_;
};

namespace impl {

// Reads a blob in pieces. A compressed blob is decompressed at the first read.
class BlobBuffer : public std::streambuf {
 public:
  BlobBuffer(std::shared_ptr<const void> owner, const poprt_popef_blob* blob, size_t size,
             bool compressed)
      : owner_(std::move(owner)), blob_(blob), size_(size), compressed_(compressed) {}
  size_t left() const { return size_ - position(); }

 protected:
  int_type underflow() override {
    if (gptr() == egptr()) {
      if (left() == 0) return traits_type::eof();
      if (compressed_) {
        unpack();
      } else {
        const size_t count = left() < kWindow ? left() : kWindow;
        window_.resize(count);
        check(poprt_popef_blob_read(blob_, end_, window_.data(), count));
        end_ += count;
        setg(window_.data(), window_.data(), window_.data() + count);
      }
    }
    return traits_type::to_int_type(*gptr());
  }
  // Reads data outside the window directly into the caller's memory.
  std::streamsize xsgetn(char* out, std::streamsize count) override {
    const auto wanted = static_cast<size_t>(count) < left() ? static_cast<size_t>(count) : left();
    if (compressed_ && wanted) unpack();
    const auto here = static_cast<size_t>(egptr() - gptr());
    const size_t buffered = wanted < here ? wanted : here, direct = wanted - buffered;
    if (buffered) std::memcpy(out, gptr(), buffered);
    setg(eback(), gptr() + buffered, egptr());
    if (direct) {
      check(poprt_popef_blob_read(blob_, end_, out + buffered, direct));
      end_ += direct;
      setg(nullptr, nullptr, nullptr);
    }
    return static_cast<std::streamsize>(wanted);
  }
  std::streamsize showmanyc() override {
    return left() ? static_cast<std::streamsize>(left()) : -1;
  }
  pos_type seekoff(off_type offset, std::ios_base::seekdir from,
                   std::ios_base::openmode which) override {
    const size_t base = from == std::ios_base::cur   ? position()
                        : from == std::ios_base::end ? size_
                                                     : 0;
    if (offset > 0 && static_cast<size_t>(offset) > size_ - base) return pos_type(off_type(-1));
    return seekpos(static_cast<off_type>(base) + offset, which);
  }
  pos_type seekpos(pos_type to, std::ios_base::openmode) override {
    const off_type target = to;
    if (target < 0 || static_cast<size_t>(target) > size_) return pos_type(off_type(-1));
    if (unpacked_) {
      setg(eback(), eback() + target, egptr());
    } else {
      end_ = static_cast<size_t>(target);
      setg(nullptr, nullptr, nullptr);
    }
    return to;
  }

 private:
  static constexpr size_t kWindow = 1 << 14;

  size_t position() const { return end_ - static_cast<size_t>(egptr() - gptr()); }
  void unpack() {
    if (unpacked_) return;
    const size_t at = position();
    poprt_popef_payload* payload = nullptr;
    check(poprt_popef_blob_map(blob_, &payload));
    unpacked_.reset(payload, poprt_popef_payload_free);
    // The bytes are never written because there is no put area.
    char* first = static_cast<char*>(const_cast<void*>(poprt_popef_payload_data(payload)));
    setg(first, first + at, first + size_);
    end_ = size_;
  }

  std::shared_ptr<const void> owner_;
  const poprt_popef_blob* blob_;
  size_t size_;
  bool compressed_;
  std::shared_ptr<poprt_popef_payload> unpacked_;
  std::vector<char> window_;
  size_t end_ = 0;  // position of egptr() in the payload
};

}  // namespace impl

// A stream over the payload of a blob. Copies share the position. The read call throws errors of
// the payload.
class DataStream : public std::istream {
 public:
  explicit DataStream(std::shared_ptr<impl::BlobBuffer> buffer)
      : std::istream(buffer.get()), buffer_(std::move(buffer)) {
    exceptions(std::ios_base::badbit);
  }
  DataStream(const DataStream& other) : DataStream(other.buffer_) {}
  DataStream& operator=(const DataStream& other) {
    buffer_ = other.buffer_;
    rdbuf(buffer_.get());
    return *this;
  }
  size_t left() const { return buffer_->left(); }  // bytes until the end

 private:
  std::shared_ptr<impl::BlobBuffer> buffer_;
};

// Base of the blobs of a reader or model. Copies are cheap and keep their source alive.
class BlobReader {
 public:
  BlobReader(std::shared_ptr<const void> owner, const poprt_popef_blob* blob)
      : owner_(std::move(owner)), blob_(blob) {
    info_.struct_size = sizeof info_;
    impl::check(poprt_popef_blob_get_info(blob, &info_));
    name = info_.name;
  }
  std::string name;
  BlobType type() const { return static_cast<BlobType>(info_.type); }
  bool isCompressed() const { return info_.compressed != 0; }
  size_t sizeInBytes() const { return info_.bytes; }  // of the (decompressed) payload
  // Copies only compressed executables and the blobs of a stream.
  Payload payload() const {
    poprt_popef_payload* payload = nullptr;
    impl::check(poprt_popef_blob_map(blob_, &payload));
    return Payload(payload);
  }
  void read(size_t offset, void* data, size_t bytes) const {
    impl::check(poprt_popef_blob_read(blob_, offset, data, bytes));
  }

 protected:
  // Returns a stream from the beginning with a separate position, which another thread may use.
  std::unique_ptr<std::istream> standalone() const {
    return std::make_unique<DataStream>(shared());
  }
  DataStream shared() const {
    return DataStream(
        std::make_shared<impl::BlobBuffer>(owner_, blob_, info_.bytes, info_.compressed != 0));
  }
  const poprt_popef_blob_info& blobInfo() const { return info_; }
  TensorInfo tensorInfo() const { return impl::tensorInfoOf(info_.dtype, info_.shape, info_.rank); }

 private:
  std::shared_ptr<const void> owner_;
  const poprt_popef_blob* blob_;
  poprt_popef_blob_info info_{};
};

class ExecutableReader : public BlobReader {
 public:
  ExecutableReader(std::shared_ptr<const void> owner, const poprt_popef_blob* blob)
      : BlobReader(std::move(owner), blob), executable(shared()) {}
  mutable DataStream executable;  // decompressed
  std::unique_ptr<std::istream> getStandaloneExecutableStream() const { return standalone(); }
};

class OpaqueReader : public BlobReader {
 public:
  OpaqueReader(std::shared_ptr<const void> owner, const poprt_popef_blob* blob)
      : BlobReader(std::move(owner), blob), executable(blobInfo().executable), data(shared()) {}
  std::string executable;  // the executable to which it belongs; for data, empty: any
  mutable DataStream data;
  std::unique_ptr<std::istream> getStandaloneDataStream() const { return standalone(); }
  // From the position of `data` to the end.
  size_t getAvailableReadSize() const { return data.left(); }
};

class TensorReader : public OpaqueReader {
 public:
  TensorReader(std::shared_ptr<const void> owner, const poprt_popef_blob* blob)
      : OpaqueReader(std::move(owner), blob), info(name, tensorInfo()) {}
  TensorDataInfo info;
};

class FeedReader : public OpaqueReader {
 public:
  FeedReader(std::shared_ptr<const void> owner, const poprt_popef_blob* blob)
      : OpaqueReader(std::move(owner), blob), info(name, tensorInfo(), blobInfo().tensor_count) {}
  FeedDataInfo info;
  // Copies tensor k, counted from 0. Throws SizeError when there is none.
  std::vector<char> tensor(int64_t k) const {
    if (k < 0 || k >= info.numTensors())
      throw SizeError(ErrorCode::out_of_range, "feed '" + name + "' has " +
                                                   std::to_string(info.numTensors()) +
                                                   " tensors, none at " + std::to_string(k));
    std::vector<char> value(info.tensorInfo().sizeInBytes());
    read(static_cast<size_t>(k) * value.size(), value.data(), value.size());
    return value;
  }
};

namespace impl {

template <class Blob, class Owner, class Count, class At>
std::vector<Blob> blobs(const std::shared_ptr<Owner>& owner, Count count, At at,
                        poprt_popef_blob_type type) {
  std::vector<Blob> list;
  for (size_t i = 0; i < count(owner.get(), type); i++)
    list.emplace_back(owner, at(owner.get(), type, i));
  return list;
}

}  // namespace impl

// Finds blobs without reading their payloads. Several parse calls accumulate.
class Reader {
 public:
  Reader() {
    poprt_popef_reader* made = nullptr;
    impl::check(poprt_popef_reader_create(&made));
    handle_.reset(made, poprt_popef_reader_free);
  }
  // Readers are values: copies are independent and share the bytes.
  Reader(const Reader& other) {
    poprt_popef_reader* made = nullptr;
    impl::check(poprt_popef_reader_copy(other.handle_.get(), &made));
    handle_.reset(made, poprt_popef_reader_free);
    parsed(nullptr);
  }
  Reader& operator=(const Reader& other) { return *this = Reader(other); }
  Reader(Reader&&) = default;
  Reader& operator=(Reader&&) = default;
  ~Reader() = default;
  void parseFile(const std::string& path) {
    parsed(poprt_popef_reader_parse_file(handle_.get(), detail::text(path, "path")));
  }
  // Parses `size` bytes from the current position (0: to the end) and moves the stream to their
  // end. The reader and its blobs share the stream and change its position when bytes are read. A
  // stream that cannot seek is copied now.
  void parseStream(const std::shared_ptr<std::istream>& stream, uint64_t size = 0) {
    if (!stream || !*stream)
      throw FileError(ErrorCode::invalid_argument, "the stream to read PopEF from is not readable");
    const std::streamoff start = stream->tellg();
    if (start < 0) {
      stream->clear();
      const std::string bytes = copy(*stream, size);
      checkSize(bytes.size(), size);
      return parseBytes(bytes.data(), bytes.size());
    }
    stream->seekg(0, std::ios_base::end);
    const std::streamoff end = stream->tellg();
    stream->clear();
    stream->seekg(start);
    const auto there = static_cast<uint64_t>(end > start ? end - start : 0);
    checkSize(there, size);
    struct Source {
      std::shared_ptr<std::istream> stream;
      std::streamoff start;
    };
    auto source = std::make_unique<Source>(Source{stream, start});
    poprt_popef_source s{};
    s.struct_size = sizeof s;
    s.size = size == 0 ? there : size;
    s.user_data = source.get();
    s.read = [](uint64_t offset, void* to, size_t bytes, void* user) -> int32_t {
      try {
        const auto& from = *static_cast<Source*>(user);
        from.stream->clear();
        from.stream->seekg(from.start + static_cast<std::streamoff>(offset));
        from.stream->read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
        return from.stream->good() ? 0 : 1;
      } catch (...) {
        return 1;
      }
    };
    s.release = [](void* user) { delete static_cast<Source*>(user); };
    static_cast<void>(source.release());  // the library owns it, also after an error
    parsed(poprt_popef_reader_parse_source(handle_.get(), &s));
    stream->clear();
    stream->seekg(start + static_cast<std::streamoff>(s.size));
  }
  // The bytes are copied.
  void parseBytes(const void* data, size_t size) {
    parsed(poprt_popef_reader_parse_bytes(handle_.get(), data, size));
  }

  // Valid until the next parse call. Copies stay valid.
  const std::vector<ExecutableReader>& executables() const { return executables_; }
  const std::vector<TensorReader>& tensors() const { return tensors_; }
  const std::vector<FeedReader>& feeds() const { return feeds_; }
  const std::vector<OpaqueReader>& opaqueBlobs() const { return opaqueBlobs_; }
  const std::vector<Metadata>& metadata() const { return metadata_; }
  // Returns warnings about unusual data that is not an error, one line each.
  std::string warnings() const {
    poprt_string* text = nullptr;
    impl::check(poprt_popef_reader_warnings(handle_.get(), &text));
    return detail::take(text);
  }
  const poprt_popef_reader* handle() const { return handle_.get(); }

 private:
  static std::string copy(std::istream& stream, uint64_t size) {
    std::string bytes;
    char part[1 << 14];
    while (size == 0 || bytes.size() < size) {
      const uint64_t wanted =
          size == 0 || size - bytes.size() > sizeof part ? sizeof part : size - bytes.size();
      stream.read(part, static_cast<std::streamsize>(wanted));
      bytes.append(part, static_cast<size_t>(stream.gcount()));
      if (!stream) break;
    }
    return bytes;
  }
  static void checkSize(uint64_t there, uint64_t announced) {
    if (there < announced)
      throw FileError(ErrorCode::data_loss, "truncated: the stream has " + std::to_string(there) +
                                                " bytes, " + std::to_string(announced) +
                                                " were announced");
  }
  // Adds the blobs of a parse call.
  void parsed(poprt_error* error) {
    impl::check(error);
    add(executables_, POPRT_POPEF_EXECUTABLE);
    add(tensors_, POPRT_POPEF_TENSOR);
    add(feeds_, POPRT_POPEF_FEED);
    add(opaqueBlobs_, POPRT_POPEF_OPAQUE);
    const size_t count = poprt_popef_reader_count(handle_.get(), POPRT_POPEF_METADATA_BLOB);
    for (size_t i = metadata_.size(); i < count; i++)
      metadata_.push_back(impl::fromHandle(poprt_popef_reader_metadata(handle_.get(), i)));
  }
  template <class Blob>
  void add(std::vector<Blob>& to, poprt_popef_blob_type type) {
    for (size_t i = to.size(); i < poprt_popef_reader_count(handle_.get(), type); i++)
      to.emplace_back(handle_, poprt_popef_reader_blob(handle_.get(), type, i));
  }

  std::shared_ptr<poprt_popef_reader> handle_;
  std::vector<ExecutableReader> executables_;
  std::vector<TensorReader> tensors_;
  std::vector<FeedReader> feeds_;
  std::vector<OpaqueReader> opaqueBlobs_;
  std::vector<Metadata> metadata_;
};

// One executable with all blobs that belong to it. Copies are cheap.
class Model {
 public:
  explicit Model(poprt_popef_model* handle)  // takes ownership
      : Model(std::shared_ptr<poprt_popef_model>(handle, poprt_popef_model_free)) {}

  Metadata metadata;
  ExecutableReader executable;
  std::vector<TensorReader> tensors;  // at most one for each anchor name
  std::vector<FeedReader> feeds;
  std::vector<OpaqueReader> opaqueBlobs;

  // The anchors that the caller must serve.
  std::vector<Anchor> getUserInputAnchors() const { return userAnchors(POPRT_POPEF_INPUT); }
  std::vector<Anchor> getUserOutputAnchors() const { return userAnchors(POPRT_POPEF_OUTPUT); }
  const poprt_popef_model* handle() const { return handle_.get(); }
  // Returns warnings about ignored parts, one line each.
  std::string warnings() const {
    poprt_string* text = nullptr;
    impl::check(poprt_popef_model_warnings(handle_.get(), &text));
    return detail::take(text);
  }

 private:
  explicit Model(std::shared_ptr<poprt_popef_model> handle)
      : metadata(impl::fromHandle(poprt_popef_model_metadata(handle.get()))),
        executable(handle, poprt_popef_model_blob(handle.get(), POPRT_POPEF_EXECUTABLE, 0)),
        tensors(list<TensorReader>(handle, POPRT_POPEF_TENSOR)),
        feeds(list<FeedReader>(handle, POPRT_POPEF_FEED)),
        opaqueBlobs(list<OpaqueReader>(handle, POPRT_POPEF_OPAQUE)),
        handle_(std::move(handle)) {}
  template <class Blob>
  static std::vector<Blob> list(const std::shared_ptr<poprt_popef_model>& handle,
                                poprt_popef_blob_type type) {
    return impl::blobs<Blob>(handle, poprt_popef_model_count, poprt_popef_model_blob, type);
  }
  std::vector<Anchor> userAnchors(poprt_popef_anchor_type type) const {
    size_t count = 0;
    const size_t* indices = poprt_popef_model_user_anchors(handle_.get(), type, &count);
    std::vector<Anchor> anchors;
    for (size_t i = 0; i < count; i++) anchors.push_back(metadata.anchors()[indices[i]]);
    return anchors;
  }
  std::shared_ptr<poprt_popef_model> handle_;
};

// Assembles the blobs of a reader by their links.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::shared_ptr<const Reader> reader) : reader_(std::move(reader)) {
    detail::given(reader_, "reader");
  }

  // Creates the model of the only executable.
  std::shared_ptr<Model> createModel() const { return create(nullptr); }
  std::shared_ptr<Model> createModel(const std::string& executable) const {
    return create(detail::text(executable, "executable"));
  }
  std::vector<std::shared_ptr<Model>> createModels() const {
    const size_t count = poprt_popef_reader_count(reader_->handle(), POPRT_POPEF_EXECUTABLE);
    std::vector<poprt_popef_model*> made(count);
    impl::check(poprt_popef_model_create_all(reader_->handle(), made.data(), count));
    std::vector<std::shared_ptr<Model>> models;
    for (poprt_popef_model* m : made) models.push_back(std::make_shared<Model>(m));
    return models;
  }

 private:
  std::shared_ptr<Model> create(const char* executable) const {
    poprt_popef_model* made = nullptr;
    impl::check(poprt_popef_model_create(reader_->handle(), executable, &made));
    return std::make_shared<Model>(made);
  }
  std::shared_ptr<const Reader> reader_;
};

namespace impl {

// The destructor finishes the blob. During an exception, it makes the writer fail instead.
class BlobWriterHandle {
 public:
  explicit BlobWriterHandle(poprt_popef_blob_writer* handle)  // takes ownership
      : exceptions_(std::uncaught_exceptions()), handle_(handle) {}
  ~BlobWriterHandle() {
    if (std::uncaught_exceptions() > exceptions_) return;
    poprt_error_free(poprt_popef_blob_writer_close(handle_.get()));  // the writer reports the error
  }
  BlobWriterHandle(const BlobWriterHandle&) = delete;
  BlobWriterHandle& operator=(const BlobWriterHandle&) = delete;
  void close() { check(poprt_popef_blob_writer_close(handle_.get())); }

 protected:
  void put(size_t feed, const void* data, size_t bytes) {
    check(poprt_popef_blob_writer_write(handle_.get(), feed, data, bytes));
  }

 private:
  struct Free {
    void operator()(poprt_popef_blob_writer* b) const { poprt_popef_blob_writer_free(b); }
  };
  int exceptions_;
  std::unique_ptr<poprt_popef_blob_writer, Free> handle_;
};

}  // namespace impl

// Writes the payload of one blob.
class BlobWriter : public impl::BlobWriterHandle {
 public:
  explicit BlobWriter(poprt_popef_blob_writer* handle)  // takes ownership
      : BlobWriterHandle(handle), buffer_(*this), stream(&buffer_) {
    stream.exceptions(std::ios_base::badbit);
  }
  void write(const void* data, size_t bytes) {
    put(0, data, bytes);
    buffer_.written += static_cast<std::streamoff>(bytes);
  }

 private:
  // Passes all data on immediately. Errors are thrown by the output call.
  struct Buffer : std::streambuf {
    explicit Buffer(BlobWriter& w) : writer(w) {}
    int_type overflow(int_type c) override {
      if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
      const char byte = traits_type::to_char_type(c);
      writer.write(&byte, 1);
      return c;
    }
    std::streamsize xsputn(const char* data, std::streamsize count) override {
      writer.write(data, static_cast<size_t>(count));
      return count;
    }
    pos_type seekoff(off_type offset, std::ios_base::seekdir from,
                     std::ios_base::openmode) override {
      return offset == 0 && from == std::ios_base::cur ? pos_type(written) : pos_type(off_type(-1));
    }
    BlobWriter& writer;
    std::streamoff written = 0;
  };
  Buffer buffer_;

 public:
  std::ostream stream;
};

// Several feeds that are written alternately.
class FeedGroupWriter : public impl::BlobWriterHandle {
 public:
  using BlobWriterHandle::BlobWriterHandle;
  void write(size_t feed, const void* data, size_t bytes) { put(feed, data, bytes); }
};

class Writer {
 public:
  // The stream must outlive the writer.
  explicit Writer(std::ostream& stream) {
    const auto write = [](const void* data, size_t size, void* to) -> int32_t {
      auto& out = *static_cast<std::ostream*>(to);
      out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
      return out ? 0 : 1;
    };
    poprt_popef_writer* made = nullptr;
    impl::check(poprt_popef_writer_create_stream(write, &stream, &made));
    handle_.reset(made);
  }
  // Calls close() without reporting errors, except during an exception.
  virtual ~Writer() {
    if (std::uncaught_exceptions() > exceptions_) return;
    poprt_error_free(poprt_popef_writer_close(handle_.get()));
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::shared_ptr<BlobWriter> createExecutable(const std::string& name, bool compress = false) {
    auto info = blob(POPRT_POPEF_EXECUTABLE, name, "");
    info.compressed = compress;
    return begin(info);
  }
  std::shared_ptr<BlobWriter> createOpaqueBlob(const std::string& name,
                                               const std::string& executable) {
    return begin(blob(POPRT_POPEF_OPAQUE, name, detail::text(executable, "executable")));
  }
  // `executable` links the data to one of several models; empty: to all models with such an anchor.
  std::shared_ptr<BlobWriter> createTensorData(const TensorDataInfo& info,
                                               const std::string& executable = {}) {
    return begin(data(POPRT_POPEF_TENSOR, info, executable, 0));
  }
  std::shared_ptr<BlobWriter> createFeedData(const FeedDataInfo& info,
                                             const std::string& executable = {}) {
    return begin(data(POPRT_POPEF_FEED, info, executable, info.numTensors()));
  }
  std::shared_ptr<FeedGroupWriter> createFeedGroup(const std::vector<FeedDataInfo>& infos,
                                                   const std::string& executable = {}) {
    std::vector<poprt_popef_blob_info> feeds;
    for (const FeedDataInfo& info : infos)
      feeds.push_back(data(POPRT_POPEF_FEED, info, executable, info.numTensors()));
    std::vector<const poprt_popef_blob_info*> pointers;
    for (const auto& feed : feeds) pointers.push_back(&feed);
    poprt_popef_blob_writer* made = nullptr;
    impl::check(
        poprt_popef_writer_begin_feeds(handle_.get(), pointers.data(), pointers.size(), &made));
    return std::make_shared<FeedGroupWriter>(made);
  }
  void write(const Metadata& metadata) {
    const auto m = impl::toHandle(metadata);
    impl::check(poprt_popef_writer_add_metadata(handle_.get(), m.get()));
  }
  // Finishes the active blob and the writer. A second call has no effect.
  void close() { impl::check(poprt_popef_writer_close(handle_.get())); }

 protected:
  explicit Writer(poprt_popef_writer* handle) : handle_(handle) {}

 private:
  struct Free {
    void operator()(poprt_popef_writer* w) const { poprt_popef_writer_free(w); }
  };
  static poprt_popef_blob_info blob(poprt_popef_blob_type type, const std::string& name,
                                    const char* executable) {
    poprt_popef_blob_info info{};
    info.struct_size = sizeof info;
    info.type = type;
    info.name = detail::text(name, "name");
    info.executable = executable;
    return info;
  }
  static poprt_popef_blob_info data(poprt_popef_blob_type type, const TensorDataInfo& from,
                                    const std::string& executable, int64_t tensors) {
    auto info = blob(type, from.name(), detail::text(executable, "executable"));
    info.dtype = static_cast<poprt_dtype>(from.tensorInfo().dataType());
    info.shape = from.tensorInfo().shape().data();
    info.rank = from.tensorInfo().shape().size();
    info.tensor_count = tensors;
    return info;
  }
  std::shared_ptr<BlobWriter> begin(const poprt_popef_blob_info& info) {
    poprt_popef_blob_writer* made = nullptr;
    impl::check(poprt_popef_writer_begin(handle_.get(), &info, &made));
    return std::make_shared<BlobWriter>(made);
  }

  int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<poprt_popef_writer, Free> handle_;
};

// TRUNCATE: the new file replaces `path` when close() has succeeded; until then, an existing file
// is unchanged. APPEND: adds blobs to an existing file, which regains its old contents if close()
// does not succeed, or creates a file.
class FileWriter : public Writer {
 public:
  enum class Mode : int32_t { TRUNCATE = POPRT_POPEF_TRUNCATE, APPEND = POPRT_POPEF_APPEND };
  explicit FileWriter(const std::string& path, Mode mode = Mode::TRUNCATE)
      : Writer(create(path, mode)) {}

 private:
  static poprt_popef_writer* create(const std::string& path, Mode mode) {
    poprt_popef_writer* made = nullptr;
    impl::check(poprt_popef_writer_create(detail::text(path, "path"),
                                          static_cast<poprt_popef_mode>(mode), &made));
    return made;
  }
};

}  // namespace popef
