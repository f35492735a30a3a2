#include "popef/writer.h"

#include <cstring>
#include <exception>
#include <optional>
#include <sstream>
#include <streambuf>
#include <vector>

#include "codecs/crc32c.h"
#include "popef/compress.h"
#include "popef/error.h"
#include "popef/feed_group_core.h"
#include "popef/log.h"
#include "popef/metadata_codec.h"
#include "popef/writer_core.h"

namespace poprt::popef {
namespace detail {

// The active blob. It receives the payload from the stream, and writes the header when it is
// finished.
class BlobBuffer : public std::streambuf, public Active {
 public:
  BlobBuffer(WriterCore* core, BlobType type, const Descriptor& descriptor, bool compress,
             std::optional<uint64_t> expected)
      : core_(core),
        name_(descriptor.name),
        expected_(expected),
        area_(1 << 14),
        blob_(OpenBlob::begin(*core->sink, type, descriptor, compress)) {
    if (compress) compressor_.emplace([this](std::span<const std::byte> b) { store(b); });
    setp(area_.data(), area_.data() + area_.size());
  }

  bool active() const { return core_ != nullptr; }

  void write(std::span<const std::byte> bytes) {
    check_active();
    guarded([&] {
      flush_area();
      put(bytes);
    });
  }

  void finish() override {
    check_active();
    guarded([&] {
      flush_area();
      if (expected_ && raw_bytes_ != *expected_)
        raise<SizeError>("blob '{}' needs {} bytes of data, got {}", name_, *expected_, raw_bytes_);
      if (compressor_) compressor_->finish();
      Sink& sink = *core_->sink;
      blob_.end_payload(sink, sink.size() - blob_.payload, raw_bytes_);
      blob_.write_header(sink, checksum_.value());
      sink.fix_written();
    });
    deactivate();
  }

  void abandon(std::string why) override {
    if (!active()) return;
    if (core_->failure.empty()) core_->failure = std::move(why);
    deactivate();
  }

  const std::string& name() const { return name_; }

 protected:
  int_type overflow(int_type c) override {
    check_active();
    guarded([&] { flush_area(); });
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }

  std::streamsize xsputn(const char* data, std::streamsize count) override {
    if (count < epptr() - pptr()) {
      check_active();
      std::memcpy(pptr(), data, static_cast<size_t>(count));
      pbump(static_cast<int>(count));
    } else {
      write(std::as_bytes(std::span(data, static_cast<size_t>(count))));
    }
    return count;
  }

  int sync() override {
    check_active();
    guarded([&] { flush_area(); });
    return 0;
  }

  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
    if (offset != 0 || from != std::ios_base::cur) return pos_type(-1);
    return static_cast<off_type>(raw_bytes_) + (pptr() - pbase());  // tellp()
  }

 private:
  void check_active() const {
    if (!active())
      raise<InactiveWriterError>(
          "the writer of blob '{}' is no longer active: it was closed, failed, or another blob was "
          "begun",
          name_);
  }

  template <class F>
  void guarded(F f) {
    try {
      f();
    } catch (const std::exception& e) {
      abandon(e.what());
      throw;
    }
  }

  void flush_area() {
    const auto bytes = std::as_bytes(std::span(pbase(), static_cast<size_t>(pptr() - pbase())));
    setp(area_.data(), area_.data() + area_.size());
    put(bytes);
  }

  void put(std::span<const std::byte> bytes) {
    if (expected_ && bytes.size() > *expected_ - raw_bytes_)
      raise<SizeError>("blob '{}' takes {} bytes of data, got {}", name_, *expected_,
                       raw_bytes_ + bytes.size());
    raw_bytes_ += bytes.size();
    if (compressor_) {
      compressor_->write(bytes);
    } else {
      store(bytes);
    }
  }

  void store(std::span<const std::byte> bytes) {
    checksum_.update(bytes);
    core_->sink->write(bytes);
  }

  void deactivate() {
    WriterCore* core = std::exchange(core_, nullptr);
    setp(nullptr, nullptr);
    if (core->active.get() == this) core->active = nullptr;  // may destroy this
  }

  WriterCore* core_;  // null if the blob is not active
  std::string name_;
  std::optional<uint64_t> expected_;
  std::vector<char> area_;
  std::optional<Compressor> compressor_;
  Crc32c checksum_;  // of the bytes as stored
  OpenBlob blob_;
  uint64_t raw_bytes_ = 0;
};

}  // namespace detail

BlobWriter::BlobWriter(std::shared_ptr<detail::BlobBuffer> buffer)
    : buffer_(std::move(buffer)), exceptions_(std::uncaught_exceptions()), stream(buffer_.get()) {
  stream.exceptions(std::ios::badbit);
}

BlobWriter::~BlobWriter() {
  if (!buffer_->active()) return;
  if (std::uncaught_exceptions() > exceptions_) {
    buffer_->abandon(fmt::format("an exception ended the writing of blob '{}'", buffer_->name()));
    return;
  }
  try {
    buffer_->finish();
  } catch (...) {
    // finish() has marked the writer as failed, so its next call reports the error.
  }
}

void BlobWriter::write(const void* data, uint64_t bytes) {
  buffer_->write({static_cast<const std::byte*>(data), static_cast<size_t>(bytes)});
}

void BlobWriter::close() {
  if (buffer_->active()) buffer_->finish();
}

void BlobWriter::abandon() {
  buffer_->abandon(fmt::format("the writing of blob '{}' was given up", buffer_->name()));
}

namespace {

std::shared_ptr<BlobWriter> begin_blob(detail::WriterCore& core, BlobType type,
                                       const Descriptor& descriptor, bool compress,
                                       std::optional<uint64_t> expected) {
  return std::make_shared<BlobWriter>(core.create([&] {
    return std::make_shared<detail::BlobBuffer>(&core, type, descriptor, compress, expected);
  }));
}

std::unique_ptr<detail::WriterCore> stream_core(std::ostream& stream) {
  auto core = std::make_unique<detail::WriterCore>();
  core->sink = stream_sink(stream);
  return core;
}

std::unique_ptr<detail::WriterCore> file_core(const std::string& path, FileWriter::Mode mode) {
  auto core = std::make_unique<detail::WriterCore>();
  core->sink =
      mode == FileWriter::Mode::APPEND ? append_sink(path, core->executables) : file_sink(path);
  return core;
}

}  // namespace

Writer::Writer(std::ostream& stream) : Writer(stream_core(stream)) {}

Writer::Writer(std::unique_ptr<detail::WriterCore> core)
    : core_(std::move(core)), exceptions_(std::uncaught_exceptions()) {}

Writer::~Writer() {
  if (std::uncaught_exceptions() > exceptions_ && core_->failure.empty())
    core_->failure = "an exception ended the writing";
  if (const auto blob = core_->active; blob && !core_->failure.empty()) blob->abandon("");
  try {
    close();
  } catch (...) {
    // Without commit() the sink removes the written bytes.
  }
}

std::shared_ptr<BlobWriter> Writer::createExecutable(const std::string& name, bool compress) {
  core_->begin();
  if (name.empty()) raise<LinkError>("an executable needs a name");
  if (!core_->executables.insert(name).second)
    raise<LinkError>("executable '{}' was written before; names must be unique", name);
  return begin_blob(*core_, BlobType::POPLAR_EXECUTABLE, {.name = name}, compress, std::nullopt);
}

std::shared_ptr<BlobWriter> Writer::createOpaqueBlob(const std::string& name,
                                                     const std::string& executable) {
  core_->begin();
  if (name.empty()) raise<LinkError>("an opaque blob needs a name");
  return begin_blob(*core_, BlobType::OPAQUE, {.name = name, .executable = executable}, false,
                    std::nullopt);
}

std::shared_ptr<BlobWriter> Writer::createTensorData(const TensorDataInfo& info,
                                                     const std::string& executable) {
  core_->begin();
  if (info.name().empty()) raise<LinkError>("a tensor blob needs the name of an anchor");
  return begin_blob(*core_, BlobType::DATA_TENSOR,
                    {.name = info.name(), .executable = executable, .info = info.tensorInfo()},
                    false, info.tensorInfo().sizeInBytes());
}

std::shared_ptr<BlobWriter> Writer::createFeedData(const FeedDataInfo& info,
                                                   const std::string& executable) {
  core_->begin();
  if (info.name().empty()) raise<LinkError>("a feed blob needs the name of an anchor");
  return begin_blob(*core_, BlobType::DATA_FEED,
                    {.name = info.name(),
                     .executable = executable,
                     .info = info.tensorInfo(),
                     .num_tensors = info.numTensors()},
                    false, info.sizeInBytes());
}

std::shared_ptr<FeedGroupWriter> Writer::createFeedGroup(const std::vector<FeedDataInfo>& infos,
                                                         const std::string& executable) {
  core_->begin();
  for (const FeedDataInfo& info : infos)
    if (info.name().empty()) raise<LinkError>("a feed blob needs the name of an anchor");
  return std::make_shared<FeedGroupWriter>(core_->create(
      [&] { return std::make_shared<detail::FeedGroup>(core_.get(), infos, executable); }));
}

namespace {

void write_metadata(detail::WriterCore& core, const Metadata& metadata) {
  core.begin();
  const auto bytes = encode_metadata(metadata);
  const uint64_t at = core.sink->size();
  const auto blob = begin_blob(core, BlobType::METADATA, {}, false, bytes.size());
  blob->write(bytes.data(), bytes.size());
  blob->close();
  core.metadata_at = at;
  core.metadata_bytes = core.sink->size() - at;
}

}  // namespace

void Writer::write(const Metadata& metadata) { write_metadata(*core_, metadata); }

void Writer::reserve(uint64_t bytes) {
  core_->check();
  core_->sink->reserve(bytes);
}

void Writer::close() {
  if (core_->closed && core_->failure.empty()) return;
  core_->begin();
  core_->closed = true;
  try {
    core_->sink->commit();
    log().info("wrote {} bytes", core_->sink->size());
  } catch (const std::exception& e) {
    core_->failure = e.what();
    throw;
  }
}

void Writer::abandon() {
  if (core_->closed) return;
  if (core_->failure.empty()) core_->failure = "the writing was given up";
  if (const auto blob = core_->active) blob->abandon("");
}

FileWriter::FileWriter(const std::string& path, Mode mode) : Writer(file_core(path, mode)) {
  core_->can_rewrite = mode == Mode::TRUNCATE;
}

void FileWriter::rewrite(const Metadata& metadata) {
  core_->begin();
  std::ostringstream bytes;
  const auto apart = stream_core(bytes);
  write_metadata(*apart, metadata);
  if (!core_->can_rewrite || core_->metadata_bytes != apart->metadata_bytes)
    raise<SizeError>("metadata of {} bytes cannot replace metadata of {} bytes{}",
                     apart->metadata_bytes, core_->metadata_bytes,
                     core_->can_rewrite ? "" : " in a file that is appended to");
  core_->sink->write_at(core_->metadata_at, std::as_bytes(std::span(bytes.view())));
}

}  // namespace poprt::popef
