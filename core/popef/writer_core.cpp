#include "popef/writer_core.h"

#include "base/checked.h"
#include "popef/error.h"

namespace poprt::popef::detail {

void WriterCore::check() const {
  if (!failure.empty())
    raise<InactiveWriterError>("the PopEF writer has failed before: {}", failure);
  if (closed) raise<InactiveWriterError>("the PopEF writer is closed");
}

void WriterCore::finish_active() {
  if (const auto blob = active) blob->finish();
}

void WriterCore::note_failure(const std::exception& e) {
  if (dynamic_cast<const FileError*>(&e) != nullptr) failure = e.what();
}

OpenBlob OpenBlob::begin(Sink& sink, BlobType type, const Descriptor& descriptor, bool compress) {
  auto records = encode_descriptor(descriptor, type, compress);
  reserve_checksums(records);
  const bool mapped = type == BlobType::POPLAR_EXECUTABLE && !compress;
  OpenBlob blob;
  blob.start = sink.size();
  blob.payload = align_up(blob.start + kHeaderBytes + records.size(),
                          mapped ? kExecutableAlignment : kBlobAlignment);
  blob.header.type = static_cast<uint32_t>(type);
  blob.header.flags = compress ? kFlagCompressed : 0;
  blob.header.descriptor_bytes = static_cast<uint32_t>(records.size());
  blob.header.payload_offset = blob.payload - blob.start;
  sink.write_zeros(kHeaderBytes);
  sink.write(records);
  sink.write_zeros(blob.payload - sink.size());
  blob.descriptor = std::move(records);
  return blob;
}

void OpenBlob::end_payload(Sink& sink, uint64_t stored_bytes, uint64_t raw_bytes) {
  header.payload_bytes = stored_bytes;
  header.raw_bytes = raw_bytes;
  sink.write_zeros(align_up(sink.size(), kBlobAlignment) - sink.size());
  header.size = sink.size() - start;
}

void OpenBlob::write_header(Sink& sink, uint32_t checksum) {
  const auto bytes = encode_header(header);
  set_checksums(descriptor, bytes, checksum);
  sink.write_at(start + kHeaderBytes, descriptor);
  sink.write_at(start, bytes);
}

}  // namespace poprt::popef::detail
