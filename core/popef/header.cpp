#include "popef/header.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "codecs/crc32c.h"
#include "popef/error.h"

static_assert(std::endian::native == std::endian::little, "the file format is little-endian");

namespace poprt::popef {
namespace {

constexpr std::string_view kVersionPrefix = "PopEF ";
constexpr size_t kVersionBytes = 16;
constexpr uint32_t kCodecZstd = 1;

enum Tag : uint16_t {
  kName = 1,
  kExecutable = 2,
  kDataType = 3,
  kShape = 4,
  kNumTensors = 5,
  kCodec = 6,
  kChecksums = 7,
  kTagCount = 8,
};

struct RecordHeader {
  uint16_t tag;
  uint16_t reserved;
  uint32_t length;
};

template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}
template <class T>
T get(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

std::optional<uint16_t> parse_number(std::string_view digits) {
  uint16_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

void decode_version(std::span<const std::byte> bytes, uint64_t offset, BlobHeader& header) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), kVersionBytes);
  if (const size_t end = text.find('\0'); end != text.npos) text = text.substr(0, end);
  const size_t dot = text.find('.');
  if (text.starts_with(kVersionPrefix) && dot != text.npos) {
    const auto major =
        parse_number(text.substr(kVersionPrefix.size(), dot - kVersionPrefix.size()));
    const auto minor = parse_number(text.substr(dot + 1));
    if (major && minor) {
      header.major = *major;
      header.minor = *minor;
      if (*major != kMajor)
        raise<VersionError>(
            "blob at offset {} has PopEF version {}.{}, this library reads version {}; {}", offset,
            *major, *minor, kMajor,
            *major > kMajor ? "update the library" : "write the file again");
      return;
    }
  }
  raise<FormatError>("no PopEF blob at offset {}: it does not begin with '{}{}.x'", offset,
                     kVersionPrefix, kMajor);
}

void check_layout(const BlobHeader& h, uint64_t offset) {
  const auto type = blob_type_name(static_cast<BlobType>(h.type));
  if ((h.flags & 0xffff & ~kFlagCompressed) != 0)
    raise<VersionError>("{} blob at offset {} needs features {:#x} of a newer library", type,
                        offset, h.flags & 0xffff & ~kFlagCompressed);
  if (h.descriptor_bytes > kMaxDescriptorBytes)
    raise<FormatError>("{} blob at offset {}: descriptor of {} bytes, at most {}", type, offset,
                       h.descriptor_bytes, kMaxDescriptorBytes);
  if (h.header_bytes < kHeaderBytes || h.payload_offset > h.size ||
      uint64_t{h.header_bytes} + h.descriptor_bytes > h.payload_offset ||
      h.payload_bytes > h.size - h.payload_offset)
    raise<FormatError>(
        "{} blob at offset {}: header {}, descriptor {}, payload {} + {} do not fit in its {} "
        "bytes",
        type, offset, h.header_bytes, h.descriptor_bytes, h.payload_offset, h.payload_bytes,
        h.size);
  if (!h.compressed()) {
    if (h.raw_bytes != h.payload_bytes)
      raise<FormatError>("{} blob at offset {}: {} bytes stored as {} without compression", type,
                         offset, h.raw_bytes, h.payload_bytes);
  } else if (h.type != static_cast<uint32_t>(BlobType::POPLAR_EXECUTABLE)) {
    raise<FormatError>("{} blob at offset {}: only executables may be compressed", type, offset);
  } else if (h.raw_bytes / kMaxCompressionRatio > h.payload_bytes) {
    raise<FormatError>("{} blob at offset {}: {} bytes compressed to {}, more than {} to 1", type,
                       offset, h.raw_bytes, h.payload_bytes, kMaxCompressionRatio);
  }
}

class RecordWriter {
 public:
  void add(Tag tag, const void* data, size_t bytes) {
    if (bytes > kMaxDescriptorBytes)
      raise<SizeError>("a name or shape of {} bytes is too long, at most {}", bytes,
                       kMaxDescriptorBytes);
    const RecordHeader header{tag, 0, static_cast<uint32_t>(bytes)};
    const size_t at = out_.size();
    out_.resize(at + sizeof(header) + align_up(bytes, 8));
    std::memcpy(out_.data() + at, &header, sizeof(header));
    if (bytes != 0) std::memcpy(out_.data() + at + sizeof(header), data, bytes);
  }
  void add(Tag tag, const std::string& value) { add(tag, value.data(), value.size()); }
  template <class T>
  void add_number(Tag tag, T value) {
    add(tag, &value, sizeof(value));
  }
  std::vector<std::byte> finish() {
    if (out_.size() > kMaxDescriptorBytes)
      raise<SizeError>("names and shape of a blob need {} bytes, at most {}", out_.size(),
                       kMaxDescriptorBytes);
    return std::move(out_);
  }

 private:
  std::vector<std::byte> out_;
};

static_assert(sizeof(Checksums) == 8, "the record has no padding");

// The values of the records by tag. Records with unknown tags are skipped.
class RecordReader {
 public:
  RecordReader(std::span<const std::byte> bytes, std::string where)
      : where_(std::move(where)), descriptor_(bytes) {
    while (!bytes.empty()) {
      if (bytes.size() < sizeof(RecordHeader)) throw_broken("a record is cut off");
      const auto header = get<RecordHeader>(bytes.data());
      const uint64_t padded = sizeof(RecordHeader) + align_up(header.length, 8);
      if (padded > bytes.size()) throw_broken("a record is cut off");
      if (header.tag < kTagCount) {
        if (values_[header.tag]) throw_broken(fmt::format("record {} is there twice", header.tag));
        values_[header.tag] = bytes.subspan(sizeof(RecordHeader), header.length);
      }
      bytes = bytes.subspan(padded);
    }
  }

  // The position of the value of a record from the beginning of the descriptor.
  size_t position(Tag tag) const {
    return static_cast<size_t>(bytes(tag).data() - descriptor_.data());
  }
  bool has(Tag tag) const { return values_[tag].has_value(); }
  std::span<const std::byte> bytes(Tag tag) const {
    if (!values_[tag]) throw_broken(fmt::format("record {} is missing", static_cast<int>(tag)));
    return *values_[tag];
  }
  std::string string(Tag tag) const {
    const auto b = bytes(tag);
    return {reinterpret_cast<const char*>(b.data()), b.size()};
  }
  template <class T>
  T number(Tag tag) const {
    const auto b = bytes(tag);
    if (b.size() != sizeof(T))
      throw_broken(fmt::format("record {} has {} bytes instead of {}", static_cast<int>(tag),
                               b.size(), sizeof(T)));
    return get<T>(b.data());
  }
  [[noreturn]] void throw_broken(std::string_view what) const {
    raise<FormatError>("{}: descriptor: {}", where_, what);
  }

 private:
  std::string where_;
  std::span<const std::byte> descriptor_;
  std::array<std::optional<std::span<const std::byte>>, kTagCount> values_;
};

TensorInfo decode_info(const RecordReader& records) {
  const auto type = records.number<uint32_t>(kDataType);
  if (type >= kDataTypeCount) records.throw_broken(fmt::format("unknown data type {}", type));
  const auto shape_bytes = records.bytes(kShape);
  if (shape_bytes.size() % sizeof(int64_t) != 0)
    records.throw_broken(fmt::format("shape of {} bytes", shape_bytes.size()));
  std::vector<int64_t> shape(shape_bytes.size() / sizeof(int64_t));
  if (!shape.empty()) std::memcpy(shape.data(), shape_bytes.data(), shape_bytes.size());
  return {static_cast<DataType>(type), std::move(shape)};
}

}  // namespace

std::array<std::byte, kHeaderBytes> encode_header(const BlobHeader& h) {
  std::array<std::byte, kHeaderBytes> out{};
  const std::string version = fmt::format("{}{}.{}", kVersionPrefix, h.major, h.minor);
  POPRT_ASSERT(version.size() <= kVersionBytes);
  std::memcpy(out.data(), version.data(), version.size());
  put(&out[16], h.type);
  put(&out[20], h.flags);
  put(&out[24], h.size);
  put(&out[32], h.header_bytes);
  put(&out[36], h.descriptor_bytes);
  put(&out[40], h.payload_offset);
  put(&out[48], h.payload_bytes);
  put(&out[56], h.raw_bytes);
  return out;
}

std::array<std::byte, kHeaderBytes> unfinished_header() {
  static_assert(kUnfinished.size() == kVersionBytes);
  std::array<std::byte, kHeaderBytes> out{};
  std::memcpy(out.data(), kUnfinished.data(), kUnfinished.size());
  return out;
}

bool is_unfinished(std::span<const std::byte> bytes) {
  const auto mark = unfinished_header();
  return bytes.size() >= mark.size() && std::memcmp(bytes.data(), mark.data(), mark.size()) == 0;
}

BlobHeader decode_header(std::span<const std::byte> bytes, uint64_t offset, uint64_t available) {
  if (available < kHeaderBytes || bytes.size() < kHeaderBytes)
    raise<FormatError>("truncated at offset {}: a blob header needs {} bytes, {} are left", offset,
                       kHeaderBytes, available);
  BlobHeader h;
  decode_version(bytes, offset, h);
  h.type = get<uint32_t>(&bytes[16]);
  h.flags = get<uint32_t>(&bytes[20]);
  h.size = get<uint64_t>(&bytes[24]);
  h.header_bytes = get<uint32_t>(&bytes[32]);
  h.descriptor_bytes = get<uint32_t>(&bytes[36]);
  h.payload_offset = get<uint64_t>(&bytes[40]);
  h.payload_bytes = get<uint64_t>(&bytes[48]);
  h.raw_bytes = get<uint64_t>(&bytes[56]);
  if (h.size < kHeaderBytes)
    raise<FormatError>("blob at offset {}: size {} is below the {} bytes of a header", offset,
                       h.size, kHeaderBytes);
  if (h.size % kBlobAlignment != 0)
    raise<FormatError>("blob at offset {}: size {} is not a multiple of {}", offset, h.size,
                       kBlobAlignment);
  if (h.size > available)
    raise<FormatError>("truncated: blob at offset {} has {} bytes, {} are left", offset, h.size,
                       available);
  if (h.known_type()) check_layout(h, offset);
  return h;
}

std::vector<std::byte> encode_descriptor(const Descriptor& d, BlobType type, bool compressed) {
  RecordWriter records;
  if (type == BlobType::METADATA) return records.finish();
  records.add(kName, d.name);
  if (type != BlobType::POPLAR_EXECUTABLE && !d.executable.empty())
    records.add(kExecutable, d.executable);
  if (type == BlobType::DATA_TENSOR || type == BlobType::DATA_FEED) {
    records.add_number(kDataType, static_cast<uint32_t>(d.info.dataType()));
    records.add(kShape, d.info.shape().data(), d.info.shape().size() * sizeof(int64_t));
  }
  if (type == BlobType::DATA_FEED) records.add_number(kNumTensors, d.num_tensors);
  if (compressed) records.add_number(kCodec, kCodecZstd);
  return records.finish();
}

void reserve_checksums(std::vector<std::byte>& descriptor) {
  RecordWriter records;
  records.add_number(kChecksums, Checksums{});
  const auto record = records.finish();
  if (descriptor.size() + record.size() > kMaxDescriptorBytes)
    raise<SizeError>("names and shape of a blob need {} bytes, at most {}",
                     descriptor.size() + record.size(), kMaxDescriptorBytes);
  descriptor.insert(descriptor.end(), record.begin(), record.end());
}

void set_checksums(std::span<std::byte> descriptor,
                   const std::array<std::byte, kHeaderBytes>& header, uint32_t payload) {
  POPRT_ASSERT(descriptor.size() >= sizeof(Checksums));
  const Checksums value{payload, head_checksum(header, descriptor)};
  put(descriptor.last(sizeof value).data(), value);
}

uint32_t head_checksum(std::span<const std::byte> header, std::span<const std::byte> descriptor) {
  const size_t at = RecordReader(descriptor, "a blob").position(kChecksums);
  constexpr std::array<std::byte, sizeof(Checksums)> kZeros{};
  Crc32c crc;
  crc.update(header);
  crc.update(descriptor.first(at));
  crc.update(kZeros);
  crc.update(descriptor.subspan(at + sizeof(Checksums)));
  return crc.value();
}

Descriptor decode_descriptor(std::span<const std::byte> bytes, const BlobHeader& header,
                             uint64_t offset) {
  const auto type = static_cast<BlobType>(header.type);
  Descriptor d;
  const RecordReader records(bytes,
                             fmt::format("{} blob at offset {}", blob_type_name(type), offset));
  if (records.has(kChecksums)) d.checksums = records.number<Checksums>(kChecksums);
  if (type == BlobType::METADATA) return d;
  d.name = records.string(kName);
  if (records.has(kExecutable)) d.executable = records.string(kExecutable);
  if (type == BlobType::POPLAR_EXECUTABLE) {
    if (d.name.empty()) records.throw_broken("an executable needs a name");
    if (header.compressed() && records.number<uint32_t>(kCodec) != kCodecZstd)
      raise<VersionError>(
          "executable '{}' at offset {}: compression codec {} needs a newer library", d.name,
          offset, records.number<uint32_t>(kCodec));
  }
  if (type == BlobType::DATA_TENSOR || type == BlobType::DATA_FEED) {
    d.info = decode_info(records);
    d.num_tensors = type == BlobType::DATA_FEED ? records.number<uint64_t>(kNumTensors) : 1;
    uint64_t expected = 0;
    try {
      expected = FeedDataInfo(d.name, d.info, d.num_tensors).sizeInBytes();
    } catch (const SizeError& e) {
      records.throw_broken(e.what());
    }
    if (expected != header.payload_bytes)
      records.throw_broken(fmt::format("'{}' needs {} bytes of data, the blob has {}", d.name,
                                       expected, header.payload_bytes));
  }
  return d;
}

}  // namespace poprt::popef
