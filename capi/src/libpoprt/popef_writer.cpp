#include "poprt/popef_writer.h"

#include <ostream>
#include <span>

#include "popef/error.h"
#include "popef/writer.h"
#include "popef_handles.h"
#include "receiver.h"
#include "struct_size.h"

using namespace poprt;

namespace {

// A stream to the caller, which exists as long as a writer or blob writer.
struct Stream {
  Stream(poprt_write_fn write, void* user_data) : receiver(write, user_data), stream(&receiver) {}
  capi::Receiver receiver;
  std::ostream stream;
};

// Runs a function that writes. If the caller has stopped the stream, the error is `cancelled`.
template <class F>
poprt_error* write_guard(const std::shared_ptr<Stream>& stream, F f) {
  return capi::guard([&] {
    try {
      f();
    } catch (const popef::Error& e) {
      if (!stream || !stream->receiver.stopped()) throw;
      fail(ErrorCode::cancelled, "the receiver stopped: {}", e.message());
    }
  });
}

poprt_popef_blob_info read_info(const poprt_popef_blob_info* given) {
  capi::required(given, "info");
  auto info = capi::read_options(given, "poprt_popef_blob_info");
  if (!info.name) info.name = "";
  if (!info.executable) info.executable = "";
  if (info.reserved)
    fail(ErrorCode::invalid_argument, "blob '{}': reserved is {}, must be 0", info.name,
         info.reserved);
  if (info.tensor_count < 0)
    fail(ErrorCode::invalid_argument, "blob '{}': tensor_count is {}, must not be negative",
         info.name, info.tensor_count);
  if (info.compressed && info.type != POPRT_POPEF_EXECUTABLE)
    fail(ErrorCode::invalid_argument, "blob '{}': only executables can be compressed", info.name);
  return info;
}

popef::FeedDataInfo feed_info(const poprt_popef_blob_info& info) {
  return {info.name, capi::tensor_info_of(info.dtype, info.shape, info.rank),
          static_cast<uint64_t>(info.tensor_count)};
}

}  // namespace

struct poprt_popef_writer {
  std::shared_ptr<Stream> stream;  // null for files
  std::unique_ptr<popef::Writer> writer;
};

struct poprt_popef_blob_writer {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<popef::BlobWriter> blob;  // this or the next field is set
  std::shared_ptr<popef::FeedGroupWriter> feeds;
};

poprt_error* poprt_popef_writer_create(const char* path, poprt_popef_mode mode,
                                       poprt_popef_writer** out_writer) {
  return capi::guard([&] {
    capi::required(path, "path");
    auto& out = capi::required(out_writer, "out_writer");
    if (mode != POPRT_POPEF_TRUNCATE && mode != POPRT_POPEF_APPEND)
      fail(ErrorCode::invalid_argument, "PopEF file mode {} is unknown", mode);
    const auto as = mode == POPRT_POPEF_APPEND ? popef::FileWriter::Mode::APPEND
                                               : popef::FileWriter::Mode::TRUNCATE;
    auto made = std::make_unique<poprt_popef_writer>();
    made->writer = std::make_unique<popef::FileWriter>(path, as);
    out = made.release();
  });
}

poprt_error* poprt_popef_writer_create_stream(poprt_write_fn write, void* user_data,
                                              poprt_popef_writer** out_writer) {
  return capi::guard([&] {
    if (!write) fail(ErrorCode::invalid_argument, "argument 'write' is null");
    auto& out = capi::required(out_writer, "out_writer");
    auto made = std::make_unique<poprt_popef_writer>();
    made->stream = std::make_shared<Stream>(write, user_data);
    made->writer = std::make_unique<popef::Writer>(made->stream->stream);
    out = made.release();
  });
}

poprt_error* poprt_popef_writer_close(poprt_popef_writer* writer) {
  if (!writer) return capi::guard([&] { capi::required(writer, "writer"); });
  return write_guard(writer->stream, [&] { writer->writer->close(); });
}

void poprt_popef_writer_free(poprt_popef_writer* writer) {
  if (!writer) return;
  poprt_error_free(capi::guard([&] { writer->writer->abandon(); }));
  delete writer;
}

poprt_error* poprt_popef_writer_add_metadata(poprt_popef_writer* writer,
                                             const poprt_popef_metadata* metadata) {
  return write_guard(writer ? writer->stream : nullptr, [&] {
    auto& w = *capi::required(writer, "writer").writer;
    w.write(capi::required(metadata, "metadata").value);
  });
}

poprt_error* poprt_popef_writer_begin(poprt_popef_writer* writer, const poprt_popef_blob_info* info,
                                      poprt_popef_blob_writer** out_blob) {
  return write_guard(writer ? writer->stream : nullptr, [&] {
    auto& w = *capi::required(writer, "writer").writer;
    const auto blob = read_info(info);
    auto& out = capi::required(out_blob, "out_blob");
    auto made = std::make_unique<poprt_popef_blob_writer>();
    made->stream = writer->stream;
    switch (blob.type) {
      case POPRT_POPEF_EXECUTABLE:
        made->blob = w.createExecutable(blob.name, blob.compressed != 0);
        break;
      case POPRT_POPEF_TENSOR:
        made->blob = w.createTensorData(feed_info(blob), blob.executable);
        break;
      case POPRT_POPEF_FEED: made->blob = w.createFeedData(feed_info(blob), blob.executable); break;
      case POPRT_POPEF_OPAQUE: made->blob = w.createOpaqueBlob(blob.name, blob.executable); break;
      default:
        fail(ErrorCode::invalid_argument, "blob '{}': a blob of type {} cannot be begun", blob.name,
             blob.type);
    }
    out = made.release();
  });
}

poprt_error* poprt_popef_writer_begin_feeds(poprt_popef_writer* writer,
                                            const poprt_popef_blob_info* const* feeds,
                                            size_t feed_count, poprt_popef_blob_writer** out_blob) {
  return write_guard(writer ? writer->stream : nullptr, [&] {
    auto& w = *capi::required(writer, "writer").writer;
    capi::required(feeds, "feeds");
    if (!feed_count) fail(ErrorCode::invalid_argument, "a group needs at least one feed");
    auto& out = capi::required(out_blob, "out_blob");
    std::vector<popef::FeedDataInfo> infos;
    std::string executable;
    for (const poprt_popef_blob_info* feed : std::span(feeds, feed_count)) {
      const auto info = read_info(feed);
      if (info.type != POPRT_POPEF_FEED)
        fail(ErrorCode::invalid_argument, "blob '{}': type {} is not that of feeds", info.name,
             info.type);
      if (infos.empty()) executable = info.executable;
      infos.push_back(feed_info(info));
    }
    auto made = std::make_unique<poprt_popef_blob_writer>();
    made->stream = writer->stream;
    made->feeds = w.createFeedGroup(infos, executable);
    out = made.release();
  });
}

poprt_error* poprt_popef_blob_writer_write(poprt_popef_blob_writer* blob, size_t feed,
                                           const void* data, size_t bytes) {
  return write_guard(blob ? blob->stream : nullptr, [&] {
    auto& b = capi::required(blob, "blob");
    if (bytes) capi::required(static_cast<const char*>(data), "data");
    if (b.feeds) return b.feeds->write(feed, data, bytes);
    if (feed) fail(ErrorCode::invalid_argument, "there is one blob, number {} was requested", feed);
    b.blob->write(data, bytes);
  });
}

poprt_error* poprt_popef_blob_writer_close(poprt_popef_blob_writer* blob) {
  return write_guard(blob ? blob->stream : nullptr, [&] {
    auto& b = capi::required(blob, "blob");
    return b.feeds ? b.feeds->close() : b.blob->close();
  });
}

void poprt_popef_blob_writer_free(poprt_popef_blob_writer* blob) {
  if (!blob) return;
  poprt_error_free(
      capi::guard([&] { return blob->feeds ? blob->feeds->abandon() : blob->blob->abandon(); }));
  delete blob;
}
