#include "popef/reader.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <unordered_set>

#include "codecs/crc32c.h"
#include "popef/compress.h"
#include "popef/error.h"
#include "popef/header.h"
#include "popef/log.h"
#include "popef/metadata_codec.h"

namespace poprt::popef {
namespace {

// An istream that owns its buffer.
class StandaloneStream final : public std::istream {
 public:
  explicit StandaloneStream(std::unique_ptr<Content> content)
      : std::istream(nullptr), buffer_(std::move(content)) {
    rdbuf(&buffer_);
    exceptions(std::ios::badbit);
  }

 private:
  ContentBuffer buffer_;
};

std::shared_ptr<std::byte> allocate(uint64_t bytes) {
  constexpr std::align_val_t kAlignment{kExecutableAlignment};
  return {static_cast<std::byte*>(::operator new(bytes, kAlignment)),
          [](std::byte* p) { ::operator delete(p, kAlignment); }};
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

std::unique_ptr<Content> BlobData::content() const {
  auto stored = stored_content(source_, info_->payload_offset, info_->payload_bytes);
  if (!info_->compressed) return stored;
  return compressed_content(std::move(stored), info_->raw_bytes);
}

Payload BlobData::payload(uint64_t offset, uint64_t bytes) const {
  const auto content = this->content();
  if (const auto memory = content->memory(); memory.data() != nullptr)
    return {memory.subspan(offset, bytes), source_};
  const auto copy = allocate(bytes);
  content->read(offset, {copy.get(), bytes});
  return {{copy.get(), bytes}, copy};
}

void BlobData::read(uint64_t offset, std::span<std::byte> to) const {
  if (offset > size() || to.size() > size() - offset)
    raise<SizeError>("blob '{}' has {} bytes, {} from {} on were requested", info_->name, size(),
                     to.size(), offset);
  if (!to.empty()) content()->read(offset, to);
}

std::unique_ptr<std::istream> BlobData::standalone() const {
  return std::make_unique<StandaloneStream>(content());
}

DataStream BlobData::shared() const {
  return DataStream(std::make_shared<ContentBuffer>(content()));
}

bool BlobData::verify() const {
  const BlobInfo& b = *info_;
  if (!b.checksums) return false;
  const auto check = [&](std::string_view part, uint32_t found, uint32_t expected) {
    if (found != expected)
      raise<FormatError>(
          "'{}': {} blob{} at offset {} is damaged: its {} has checksum {:#010x}, stored is "
          "{:#010x}",
          b.source, blob_type_name(b.type), b.name.empty() ? "" : fmt::format(" '{}'", b.name),
          b.offset, part, found, expected);
  };
  std::vector<std::byte> head(b.head_bytes);
  source_->read(b.offset, head);
  const size_t header_bytes = head.size() - b.descriptor_bytes;
  check("header",
        head_checksum(std::span(head).first(header_bytes), std::span(head).subspan(header_bytes)),
        b.checksums->head);
  const auto stored = stored_content(source_, b.payload_offset, b.payload_bytes);
  Crc32c crc;
  if (const auto memory = stored->memory(); memory.data() != nullptr) {
    crc.update(memory);
  } else {
    constexpr uint64_t kPiece = 1 << 20;
    std::vector<std::byte> piece;
    for (uint64_t at = 0; at < b.payload_bytes; at += piece.size()) {
      piece.resize(std::min(kPiece, b.payload_bytes - at));
      stored->read(at, piece);
      crc.update(piece);
    }
  }
  check("payload", crc.value(), b.checksums->payload);
  return true;
}

Payload FeedReader::tensor(uint64_t k) const {
  if (k >= info.numTensors())
    raise<SizeError>("feed '{}' has {} tensors, number {} was requested", info.name(),
                     info.numTensors(), k);
  const uint64_t bytes = info.tensorInfo().sizeInBytes();
  return payload(k * bytes, bytes);
}

uint64_t OpaqueReader::getAvailableReadSize() const {
  const auto position = data.tellg();
  return position < 0 ? 0 : size() - static_cast<uint64_t>(std::streamoff(position));
}

namespace {

// An ONNX file begins with field 1, ir_version. Its value is a small number, and another field
// follows.
bool looks_like_onnx(const Source& source) {
  std::array<std::byte, 3> bytes{};
  if (source.size() < bytes.size()) return false;
  source.read(0, bytes);
  return bytes[0] == std::byte{0x08} && bytes[1] != std::byte{0} && bytes[1] < std::byte{64} &&
         (std::to_integer<int>(bytes[2]) & 7) <= 2;
}

}  // namespace

size_t Reader::verify() const {
  return verify_blobs(found_.metadata_blobs, found_.executables, found_.tensors, found_.feeds,
                      found_.opaque_blobs);
}

void Reader::parseFile(const std::string& path) {
  try {
    parse(open_file_source(path));
  } catch (FileError& e) {
    log().error("{}", e.what());
    throw;  // the message has the path
  } catch (Error& e) {
    e.add_context(path);
    log().error("{}", e.what());
    throw;
  }
}

void Reader::parseStream(std::shared_ptr<std::istream> stream, uint64_t size) {
  parse(stream_source(std::move(stream), size));
}

void Reader::parseMemory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         const std::string& name) {
  parse(memory_source(bytes, std::move(owner), name));
}

void Reader::parse(std::shared_ptr<const Source> source) {
  Found found;
  if (source->size() == 0) raise<FormatError>("not a PopEF file: it is empty");
  uint64_t offset = 0;
  if (looks_like_onnx(*source))
    throw FormatError("an ONNX model, not a PopEF file: compile it first",
                      ErrorCode::invalid_argument);
  while (offset < source->size()) {
    const uint64_t bytes = parse_blob(source, offset, found);
    if (bytes == 0) break;
    offset += bytes;
  }

  std::unordered_set<std::string_view> names;
  for (const auto* list : {&found_.executables, &found.executables})
    for (const auto& executable : *list)
      if (!names.insert(executable.name).second)
        raise<LinkError>(
            "executable '{}' is there twice (the second at offset {}); names must be "
            "unique",
            executable.name, executable.blob().offset);

  log().info("read {}: {} blobs in {} bytes", source->name(), found.blobs.size(), offset);
  for (const BlobInfo& b : found.blobs)
    log().debug("{} blob '{}' at offset {}, {} bytes", blob_type_name(b.type), b.name, b.offset,
                b.size);
  for (const std::string& w : found.warnings) log().warn("{}: {}", source->name(), w);
  parsed_bytes_ += offset;
  append(found_.executables, found.executables);
  append(found_.metadata, found.metadata);
  append(found_.metadata_blobs, found.metadata_blobs);
  append(found_.tensors, found.tensors);
  append(found_.feeds, found.feeds);
  append(found_.opaque_blobs, found.opaque_blobs);
  append(found_.blobs, found.blobs);
  append(found_.warnings, found.warnings);
}

uint64_t Reader::parse_blob(const std::shared_ptr<const Source>& source, uint64_t offset,
                            Found& found) {
  const uint64_t available = source->size() - offset;
  std::array<std::byte, kHeaderBytes> bytes{};
  if (available >= kHeaderBytes) source->read(offset, bytes);
  if (offset != 0 && is_unfinished(bytes)) {
    found.warnings.push_back(fmt::format(
        "{} bytes at offset {} are of an append that was never finished, and are ignored",
        available, offset));
    return 0;
  }
  const BlobHeader header = decode_header(bytes, offset, available);
  if (!header.known_type()) {
    found.warnings.push_back(
        fmt::format("blob at offset {} has unknown type {} and is skipped", offset, header.type));
    return header.size;
  }
  const auto type = static_cast<BlobType>(header.type);
  std::vector<std::byte> records(header.descriptor_bytes);
  source->read(offset + header.header_bytes, records);
  Descriptor d = decode_descriptor(records, header, offset);

  BlobInfo info{.type = type,
                .major = header.major,
                .minor = header.minor,
                .source = source->name(),
                .name = d.name,
                .offset = offset,
                .size = header.size,
                .payload_offset = offset + header.payload_offset,
                .payload_bytes = header.payload_bytes,
                .raw_bytes = header.raw_bytes,
                .compressed = header.compressed(),
                .head_bytes = uint64_t{header.header_bytes} + header.descriptor_bytes,
                .descriptor_bytes = header.descriptor_bytes,
                .checksums = d.checksums};
  found.blobs.push_back(info);
  const BlobData data(source, std::make_shared<const BlobInfo>(std::move(info)));
  switch (type) {
    case BlobType::POPLAR_EXECUTABLE: found.executables.emplace_back(data, d.name); break;
    case BlobType::METADATA: {
      try {
        found.metadata.push_back(decode_metadata(data.payload().bytes));
        found.metadata_blobs.push_back(data);
      } catch (Error& e) {
        // If a checksum is wrong, the damage is the cause of this error, so verify() throws
        // instead.
        data.verify();
        e.add_context(fmt::format("METADATA blob at offset {}", offset));
        throw;
      }
      break;
    }
    case BlobType::DATA_TENSOR:
      found.tensors.emplace_back(data, TensorDataInfo(d.name, d.info), d.executable);
      break;
    case BlobType::DATA_FEED:
      found.feeds.emplace_back(data, FeedDataInfo(d.name, d.info, d.num_tensors), d.executable);
      break;
    case BlobType::OPAQUE: found.opaque_blobs.emplace_back(data, d.name, d.executable); break;
  }
  return header.size;
}

}  // namespace poprt::popef
