// PopEF files, with the names of the PopEF library: Reader, Writer, FileWriter, ModelBuilder,
// Model.
//
//   popef::FileWriter writer("digits.popef");
//   writer.write(metadata);
//   writer.createExecutable("digits")->write(bytes, size);
//   writer.close();
//
// Errors, threads and what an unfinished file is are those of popef_reader.h and popef_writer.h.
#pragma once

#include <cstddef>
#include <cstdint>
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

enum class DumpFormat { summary, metadata, all, json, userAnchors };
inline std::string dumpPopef(const std::string& path, DumpFormat format = DumpFormat::summary) {
  poprt_string* text = nullptr;
  detail::check(poprt_popef_dump(path.c_str(), static_cast<poprt_popef_format>(format), &text));
  return detail::take(text);
}

namespace popef {

// The bytes of a blob, for as long as a copy of this lives.
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

// Reads a payload where it lies.
class PayloadBuffer : public std::streambuf {
 public:
  explicit PayloadBuffer(Payload payload) : payload_(std::move(payload)) {
    char* first = const_cast<char*>(payload_.data());  // never written: there is no put area
    setg(first, first, first + payload_.size());
  }

 protected:
  pos_type seekoff(off_type offset, std::ios_base::seekdir from,
                   std::ios_base::openmode which) override {
    if (from == std::ios_base::cur) offset += gptr() - eback();
    if (from == std::ios_base::end) offset += egptr() - eback();
    return seekpos(offset, which);
  }
  pos_type seekpos(pos_type position, std::ios_base::openmode) override {
    const off_type to = position;
    if (to < 0 || to > egptr() - eback()) return pos_type(off_type(-1));
    setg(eback(), eback() + to, egptr());
    return position;
  }

 private:
  Payload payload_;
};

class PayloadStream : public std::istream {
 public:
  explicit PayloadStream(Payload payload) : std::istream(nullptr), buffer_(std::move(payload)) {
    rdbuf(&buffer_);
  }

 private:
  PayloadBuffer buffer_;
};

}  // namespace impl

// Common to what a reader or model gives: copies are cheap, and keep what they are from.
class BlobReader {
 public:
  BlobReader(std::shared_ptr<const void> owner, const poprt_popef_blob* blob)
      : owner_(std::move(owner)), blob_(blob) {
    info_.struct_size = sizeof info_;
    detail::check(poprt_popef_blob_get_info(blob, &info_));
    name = info_.name;
  }
  std::string name;
  bool isCompressed() const { return info_.compressed != 0; }
  size_t sizeInBytes() const { return info_.bytes; }  // of the (decompressed) payload
  // Nothing is copied but for compressed executables.
  Payload payload() const {
    poprt_popef_payload* payload = nullptr;
    detail::check(poprt_popef_blob_map(blob_, &payload));
    return Payload(payload);
  }
  void read(size_t offset, void* data, size_t bytes) const {
    detail::check(poprt_popef_blob_read(blob_, offset, data, bytes));
  }

 protected:
  std::unique_ptr<std::istream> stream() const {
    return std::make_unique<impl::PayloadStream>(payload());
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
  using BlobReader::BlobReader;
  std::unique_ptr<std::istream> getStandaloneExecutableStream() const { return stream(); }
};

class OpaqueReader : public BlobReader {
 public:
  OpaqueReader(std::shared_ptr<const void> owner, const poprt_popef_blob* blob)
      : BlobReader(std::move(owner), blob), executable(blobInfo().executable) {}
  std::string executable;
  std::unique_ptr<std::istream> getStandaloneDataStream() const { return stream(); }
  size_t getAvailableReadSize() const { return sizeInBytes(); }
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

// Finds blobs without reading their payloads; several parse calls accumulate.
class Reader {
 public:
  Reader() {
    poprt_popef_reader* made = nullptr;
    detail::check(poprt_popef_reader_create(&made));
    handle_.reset(made, poprt_popef_reader_free);
  }
  void parseFile(const std::string& path) {
    detail::check(poprt_popef_reader_parse_file(handle_.get(), path.c_str()));
  }
  // Copies `size` bytes from the current position on; 0: to the end.
  void parseStream(const std::shared_ptr<std::istream>& stream, uint64_t size = 0) {
    std::string bytes;
    char part[1 << 14];
    while (size == 0 || bytes.size() < size) {
      const uint64_t wanted =
          size == 0 || size - bytes.size() > sizeof part ? sizeof part : size - bytes.size();
      stream->read(part, static_cast<std::streamsize>(wanted));
      bytes.append(part, static_cast<size_t>(stream->gcount()));
      if (!*stream) break;
    }
    parseBytes(bytes.data(), bytes.size());
  }
  void parseBytes(const void* data, size_t size) {
    detail::check(poprt_popef_reader_parse_bytes(handle_.get(), data, size));
  }

  std::vector<ExecutableReader> executables() const {
    return list<ExecutableReader>(POPRT_POPEF_EXECUTABLE);
  }
  std::vector<TensorReader> tensors() const { return list<TensorReader>(POPRT_POPEF_TENSOR); }
  std::vector<FeedReader> feeds() const { return list<FeedReader>(POPRT_POPEF_FEED); }
  std::vector<OpaqueReader> opaqueBlobs() const { return list<OpaqueReader>(POPRT_POPEF_OPAQUE); }
  std::vector<Metadata> metadata() const {
    std::vector<Metadata> list;
    const size_t count = poprt_popef_reader_count(handle_.get(), POPRT_POPEF_METADATA_BLOB);
    for (size_t i = 0; i < count; i++)
      list.push_back(impl::fromHandle(poprt_popef_reader_metadata(handle_.get(), i)));
    return list;
  }
  // What was odd but no error, one line each.
  std::string warnings() const {
    poprt_string* text = nullptr;
    detail::check(poprt_popef_reader_warnings(handle_.get(), &text));
    return detail::take(text);
  }
  const poprt_popef_reader* handle() const { return handle_.get(); }

 private:
  template <class Blob>
  std::vector<Blob> list(poprt_popef_blob_type type) const {
    return impl::blobs<Blob>(handle_, poprt_popef_reader_count, poprt_popef_reader_blob, type);
  }
  std::shared_ptr<poprt_popef_reader> handle_;
};

// One executable with everything that belongs to it; copies are cheap.
class Model {
 public:
  explicit Model(poprt_popef_model* handle)  // takes the handle
      : Model(std::shared_ptr<poprt_popef_model>(handle, poprt_popef_model_free)) {}

  Metadata metadata;
  ExecutableReader executable;
  std::vector<TensorReader> tensors;  // one per anchor name at most
  std::vector<FeedReader> feeds;
  std::vector<OpaqueReader> opaqueBlobs;

  // The anchors that the caller must serve.
  std::vector<Anchor> getUserInputAnchors() const { return userAnchors(POPRT_POPEF_INPUT); }
  std::vector<Anchor> getUserOutputAnchors() const { return userAnchors(POPRT_POPEF_OUTPUT); }
  // What was left out when it was made, one line each.
  std::string warnings() const {
    poprt_string* text = nullptr;
    detail::check(poprt_popef_model_warnings(handle_.get(), &text));
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

// Puts the blobs of a reader together by their links.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::shared_ptr<const Reader> reader) : reader_(std::move(reader)) {}

  // Of the only executable.
  std::shared_ptr<Model> createModel() const { return create(nullptr); }
  std::shared_ptr<Model> createModel(const std::string& executable) const {
    return create(executable.c_str());
  }
  std::vector<std::shared_ptr<Model>> createModels() const {
    const size_t count = poprt_popef_reader_count(reader_->handle(), POPRT_POPEF_EXECUTABLE);
    std::vector<poprt_popef_model*> made(count);
    detail::check(poprt_popef_model_create_all(reader_->handle(), made.data(), count));
    std::vector<std::shared_ptr<Model>> models;
    for (poprt_popef_model* m : made) models.push_back(std::make_shared<Model>(m));
    return models;
  }

 private:
  std::shared_ptr<Model> create(const char* executable) const {
    poprt_popef_model* made = nullptr;
    detail::check(poprt_popef_model_create(reader_->handle(), executable, &made));
    return std::make_shared<Model>(made);
  }
  std::shared_ptr<const Reader> reader_;
};

// Takes the payload of one blob. Going out of scope finishes the blob, unless an exception is the
// reason: then the writer has failed.
class BlobWriter {
 public:
  explicit BlobWriter(poprt_popef_blob_writer* handle)  // takes the handle
      : exceptions_(std::uncaught_exceptions()), handle_(handle) {}
  ~BlobWriter() {
    if (std::uncaught_exceptions() > exceptions_) return;
    poprt_error_free(poprt_popef_blob_writer_close(handle_.get()));  // the writer says what failed
  }
  BlobWriter(const BlobWriter&) = delete;
  BlobWriter& operator=(const BlobWriter&) = delete;
  void write(const void* data, size_t bytes) { write(0, data, bytes); }
  void close() { detail::check(poprt_popef_blob_writer_close(handle_.get())); }

 protected:
  void write(size_t feed, const void* data, size_t bytes) {
    detail::check(poprt_popef_blob_writer_write(handle_.get(), feed, data, bytes));
  }

 private:
  struct Free {
    void operator()(poprt_popef_blob_writer* b) const { poprt_popef_blob_writer_free(b); }
  };
  int exceptions_;
  std::unique_ptr<poprt_popef_blob_writer, Free> handle_;
};

// Several feeds, filled side by side.
class FeedGroupWriter : public BlobWriter {
 public:
  using BlobWriter::BlobWriter;
  void write(size_t feed, const void* data, size_t bytes) { BlobWriter::write(feed, data, bytes); }
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
    detail::check(poprt_popef_writer_create_stream(write, &stream, &made));
    handle_.reset(made);
  }
  // As close(), unless an exception is the reason; what fails is not reported.
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
    return begin(blob(POPRT_POPEF_OPAQUE, name, executable.c_str()));
  }
  // `executable` ties the data to one model of several; empty: to every one with such an anchor.
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
    detail::check(
        poprt_popef_writer_begin_feeds(handle_.get(), pointers.data(), pointers.size(), &made));
    return std::make_shared<FeedGroupWriter>(made);
  }
  void write(const Metadata& metadata) {
    const auto m = impl::toHandle(metadata);
    detail::check(poprt_popef_writer_add_metadata(handle_.get(), m.get()));
  }
  // Finishes the active blob and the writer. Does nothing the second time.
  void close() { detail::check(poprt_popef_writer_close(handle_.get())); }

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
    info.name = name.c_str();
    info.executable = executable;
    return info;
  }
  static poprt_popef_blob_info data(poprt_popef_blob_type type, const TensorDataInfo& from,
                                    const std::string& executable, int64_t tensors) {
    auto info = blob(type, from.name(), executable.c_str());
    info.dtype = static_cast<poprt_dtype>(from.tensorInfo().dataType());
    info.shape = from.tensorInfo().shape().data();
    info.rank = from.tensorInfo().shape().size();
    info.tensor_count = tensors;
    return info;
  }
  std::shared_ptr<BlobWriter> begin(const poprt_popef_blob_info& info) {
    poprt_popef_blob_writer* made = nullptr;
    detail::check(poprt_popef_writer_begin(handle_.get(), &info, &made));
    return std::make_shared<BlobWriter>(made);
  }

  int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<poprt_popef_writer, Free> handle_;
};

// The new file takes the place of `path` when close() has succeeded; until then it is what it was.
class FileWriter : public Writer {
 public:
  enum class Mode : int32_t { TRUNCATE = POPRT_POPEF_TRUNCATE, APPEND = POPRT_POPEF_APPEND };
  explicit FileWriter(const std::string& path, Mode mode = Mode::TRUNCATE)
      : Writer(create(path, mode)) {}

 private:
  static poprt_popef_writer* create(const std::string& path, Mode mode) {
    poprt_popef_writer* made = nullptr;
    detail::check(
        poprt_popef_writer_create(path.c_str(), static_cast<poprt_popef_mode>(mode), &made));
    return made;
  }
};

}  // namespace popef
}  // namespace v1
}  // namespace poprt
