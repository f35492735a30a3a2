#include "poprt/popef_reader.h"

#include <mutex>

#include "base/fork_mutex.h"
#include "popef/error.h"
#include "popef_handles.h"
#include "runtime/queue/payload_buffer.h"
#include "struct_size.h"

using namespace poprt;

namespace {

// Creates handles for new blobs.
void list_blobs(poprt_popef_reader& r) {
  r.blobs.add(POPRT_POPEF_EXECUTABLE, r.reader->executables());
  r.blobs.add(POPRT_POPEF_TENSOR, r.reader->tensors());
  r.blobs.add(POPRT_POPEF_FEED, r.reader->feeds());
  r.blobs.add(POPRT_POPEF_OPAQUE, r.reader->opaqueBlobs());
  for (size_t i = r.metadata.size(); i < r.reader->metadata().size(); i++)
    r.metadata.emplace_back(r.reader->metadata()[i]);
}

template <class Parse>
poprt_error* parse(poprt_popef_reader* reader, Parse parse_into) {
  return capi::guard([&] {
    auto& r = capi::required(reader, "reader");
    parse_into(*r.reader);
    list_blobs(r);
  });
}

// A caller's source. It is released with the last blob or payload that needs it.
class CallerSource final : public popef::Source {
 public:
  explicit CallerSource(const poprt_popef_source& source) : Source("source"), source_(source) {}
  ~CallerSource() override {
    if (source_.release) source_.release(source_.user_data);
  }
  uint64_t size() const override { return source_.size; }
  void read(uint64_t offset, std::span<std::byte> out) const override {
    if (out.empty()) return;
    const std::lock_guard lock(mutex_);
    if (mutex_.abandoned())
      throw popef::FileError(
          ErrorCode::failed_precondition,
          fmt::format("process {} was forked while another thread of its parent read this PopEF "
                      "source: open it again",
                      this_process()));
    if (source_.read(offset, out.data(), out.size(), source_.user_data) != 0)
      throw popef::FileError(
          ErrorCode::data_loss,
          fmt::format("cannot read {} bytes at offset {} of a PopEF source", out.size(), offset));
  }

 private:
  const poprt_popef_source source_;
  mutable ForkMutex mutex_;
};

}  // namespace

poprt_error* poprt_popef_reader_create(poprt_popef_reader** out_reader) {
  return capi::guard([&] {
    auto& out = capi::required(out_reader, "out_reader");
    out = new poprt_popef_reader{std::make_shared<popef::Reader>(), {}, {}};
  });
}

poprt_error* poprt_popef_reader_copy(const poprt_popef_reader* reader,
                                     poprt_popef_reader** out_reader) {
  return capi::guard([&] {
    const auto& from = capi::required(reader, "reader");
    auto& out = capi::required(out_reader, "out_reader");
    auto made = std::make_unique<poprt_popef_reader>();
    made->reader = std::make_shared<popef::Reader>(*from.reader);
    list_blobs(*made);
    out = made.release();
  });
}

poprt_error* poprt_popef_reader_parse_file(poprt_popef_reader* reader, const char* path) {
  return parse(reader, [&](popef::Reader& r) { r.parseFile(&capi::required(path, "path")); });
}

poprt_error* poprt_popef_reader_parse_bytes(poprt_popef_reader* reader, const void* data,
                                            size_t size) {
  return parse(reader, [&](popef::Reader& r) {
    if (size) capi::required(static_cast<const char*>(data), "data");
    const auto copy = std::make_shared<runtime::PayloadBuffer>();
    copy->append({static_cast<const std::byte*>(data), size});
    r.parseMemory(copy->bytes(), copy);
  });
}

poprt_error* poprt_popef_reader_parse_source(poprt_popef_reader* reader,
                                             const poprt_popef_source* source) {
  std::shared_ptr<const CallerSource> taken;
  poprt_error* error = capi::guard([&] {
    capi::required(source, "source");
    // Taken before the check of fields that this version does not have, because a failed call
    // releases the source.
    taken = std::make_shared<CallerSource>(capi::known_options(source, "poprt_popef_source"));
    capi::read_options(source, "poprt_popef_source");
    if (!source->read) fail(ErrorCode::invalid_argument, "poprt_popef_source: read is null");
  });
  if (error) return error;
  return parse(reader, [&](popef::Reader& r) { r.parseSource(taken); });
}

void poprt_popef_reader_free(poprt_popef_reader* reader) { delete reader; }

size_t poprt_popef_reader_count(const poprt_popef_reader* reader, poprt_popef_blob_type type) {
  if (!reader) return 0;
  return type == POPRT_POPEF_METADATA_BLOB ? reader->metadata.size() : reader->blobs.count(type);
}

const poprt_popef_blob* poprt_popef_reader_blob(const poprt_popef_reader* reader,
                                                poprt_popef_blob_type type, size_t index) {
  return reader ? reader->blobs.at(type, index) : nullptr;
}

const poprt_popef_metadata* poprt_popef_reader_metadata(const poprt_popef_reader* reader,
                                                        size_t index) {
  return reader && index < reader->metadata.size() ? &reader->metadata[index] : nullptr;
}

poprt_error* poprt_popef_reader_warnings(const poprt_popef_reader* reader,
                                         poprt_string** out_text) {
  return capi::guard([&] {
    const auto& r = capi::required(reader, "reader");
    auto& out = capi::required(out_text, "out_text");
    out = capi::lines_of(r.reader->warnings());
  });
}

poprt_error* poprt_popef_blob_get_info(const poprt_popef_blob* blob,
                                       poprt_popef_blob_info* out_info) {
  return capi::guard([&] {
    const auto& b = capi::required(blob, "blob");
    poprt_popef_blob_info info{};
    info.type = b.type;
    info.compressed = b.data.blob().compressed;
    info.name = b.name.c_str();
    info.executable = b.executable.c_str();
    if (b.type == POPRT_POPEF_TENSOR || b.type == POPRT_POPEF_FEED) {
      info.dtype = capi::dtype_of(b.info);
      info.shape = capi::shape_of(b.info);
      info.rank = b.info.shape().size();
    }
    info.tensor_count = static_cast<int64_t>(b.tensor_count);
    info.bytes = b.data.size();
    capi::write_struct(out_info, info, "out_info", "poprt_popef_blob_info");
  });
}

poprt_error* poprt_popef_blob_map(const poprt_popef_blob* blob, poprt_popef_payload** out_payload) {
  return capi::guard([&] {
    const auto& b = capi::required(blob, "blob");
    auto& out = capi::required(out_payload, "out_payload");
    out = new poprt_popef_payload{b.data.payload()};
  });
}

poprt_error* poprt_popef_blob_read(const poprt_popef_blob* blob, size_t offset, void* data,
                                   size_t bytes) {
  return capi::guard([&] {
    const auto& b = capi::required(blob, "blob");
    if (bytes) capi::required(static_cast<char*>(data), "data");
    if (offset > b.data.size() || bytes > b.data.size() - offset)
      fail(ErrorCode::out_of_range, "blob '{}' has {} bytes, {} from {} on were requested", b.name,
           b.data.size(), bytes, offset);
    b.data.read(offset, {static_cast<std::byte*>(data), bytes});
  });
}

const void* poprt_popef_payload_data(const poprt_popef_payload* payload) {
  return payload ? payload->payload.bytes.data() : nullptr;
}

size_t poprt_popef_payload_size(const poprt_popef_payload* payload) {
  return payload ? payload->payload.bytes.size() : 0;
}

void poprt_popef_payload_free(poprt_popef_payload* payload) { delete payload; }
