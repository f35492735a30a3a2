// Blob headers and descriptors: encoding, decoding and all checks (FORMAT.md describes the bytes).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "popef/types.h"

namespace poprt::popef {

inline constexpr uint16_t kMajor = 1;
inline constexpr uint16_t kMinor = 1;
inline constexpr uint64_t kHeaderBytes = 64;
inline constexpr uint64_t kBlobAlignment = 64;
inline constexpr uint64_t kExecutableAlignment = 4096;
inline constexpr uint64_t kMaxDescriptorBytes = 1 << 20;
// The largest ratio between the raw and the stored bytes of a compressed payload.
inline constexpr uint64_t kMaxCompressionRatio = 1024;

inline constexpr uint32_t kFlagCompressed = 1;

struct BlobHeader {
  uint16_t major = kMajor, minor = kMinor;
  uint32_t type = 0;  // a BlobType, or a number from a newer minor version
  uint32_t flags = 0;
  uint64_t size = 0;  // header, descriptor, payload and padding
  uint32_t header_bytes = kHeaderBytes;
  uint32_t descriptor_bytes = 0;
  uint64_t payload_offset = 0;  // from the beginning of the blob
  uint64_t payload_bytes = 0;   // as stored
  uint64_t raw_bytes = 0;       // after decompression

  bool known_type() const { return type >= 1 && type <= 5; }
  bool compressed() const { return (flags & kFlagCompressed) != 0; }
};

// While blobs are being appended to a file, this text marks the first new blob until all are
// written. A reader stops at the mark if it is after another blob.
inline constexpr std::string_view kUnfinished = "PopEF unfinished";
std::array<std::byte, kHeaderBytes> unfinished_header();
bool is_unfinished(std::span<const std::byte> bytes);

// The checksums that a blob stores (FORMAT.md, "Checksums").
struct Checksums {
  uint32_t payload = 0;  // CRC-32C of the payload as stored
  uint32_t head = 0;     // CRC-32C of header and descriptor, in which this record is zero
  bool operator==(const Checksums&) const = default;
};

// The description of a blob without its sizes. The type determines which fields are used.
struct Descriptor {
  std::string name;
  std::string executable;
  TensorInfo info;
  uint64_t num_tensors = 0;
  std::optional<Checksums> checksums;  // as decoded; none in files of version 1.0
};

std::array<std::byte, kHeaderBytes> encode_header(const BlobHeader& header);

// `bytes` are the first bytes of a blob that begins at `offset` of a file; the file has `available`
// bytes from there on. For a blob of unknown type, only the version and the size are checked.
// Throws FormatError and VersionError with the offset in the message.
BlobHeader decode_header(std::span<const std::byte> bytes, uint64_t offset, uint64_t available);

// Throws SizeError if the names or the shape are too long. The dimensions are not checked.
std::vector<std::byte> encode_descriptor(const Descriptor& descriptor, BlobType type,
                                         bool compressed);

// Appends the record of the checksums, with zeros, to a result of encode_descriptor(). Throws
// SizeError if the descriptor gets too long.
void reserve_checksums(std::vector<std::byte>& descriptor);

// Computes the checksum of header and descriptor and stores both checksums in the last record of
// `descriptor`, which reserve_checksums() has appended.
void set_checksums(std::span<std::byte> descriptor,
                   const std::array<std::byte, kHeaderBytes>& header, uint32_t payload);

// The checksum of the first bytes of a blob: header and descriptor as in the file. Throws
// FormatError as decode_descriptor() does.
uint32_t head_checksum(std::span<const std::byte> header, std::span<const std::byte> descriptor);

// Throws FormatError, and VersionError for an unknown codec. Also checks that the payload has the
// size that the descriptor requires.
Descriptor decode_descriptor(std::span<const std::byte> bytes, const BlobHeader& header,
                             uint64_t offset);

}  // namespace poprt::popef
