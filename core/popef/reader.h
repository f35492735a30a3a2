// Reads PopEF: finds the blobs of files and streams without reading their payloads.
//
// Everything in a file is checked before it is used. Parsing n bytes allocates at most 64 n + 256
// KiB, and reads only headers, descriptors and metadata of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "popef/header.h"
#include "popef/source.h"
#include "popef/types.h"

namespace poprt::popef {

// A payload in memory. `bytes` is valid while `owner` lives. A compressed payload, and one of a
// source that is read on demand (a seekable stream, or a file that cannot be mapped), is a copy
// that is aligned to 4096. Any other is a part of the mapped file or of the memory of the source.
struct Payload {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// One blob in its file.
struct BlobInfo {
  BlobType type{};
  uint16_t major = 0, minor = 0;
  std::string source;  // a path, "stream" or "memory"
  std::string name;    // empty for metadata
  uint64_t offset = 0, size = 0;
  uint64_t payload_offset = 0;  // from the beginning of the file
  uint64_t payload_bytes = 0;   // as stored
  uint64_t raw_bytes = 0;       // after decompression
  bool compressed = false;
  uint64_t head_bytes = 0;             // of header and descriptor
  uint32_t descriptor_bytes = 0;       // of the descriptor, the last part of head_bytes
  std::optional<Checksums> checksums;  // none in blobs of version 1.0 and of other tools
};

// The base of the readers of single blobs below. Copies are cheap, keep the file alive, and share
// the position of the public stream member; standalone streams have separate positions and may be
// used on different threads.
class BlobData {
 public:
  BlobData(std::shared_ptr<const Source> source, std::shared_ptr<const BlobInfo> info)
      : source_(std::move(source)), info_(std::move(info)) {}

  const BlobInfo& blob() const { return *info_; }
  uint64_t size() const { return info_->raw_bytes; }  // of the decompressed payload
  // The whole payload. Throws FormatError if a compressed payload is damaged, and FileError if the
  // source cannot be read.
  Payload payload() const { return payload(0, size()); }
  // Copies a part of the payload. Throws like payload(), and SizeError beyond the end.
  void read(uint64_t offset, std::span<std::byte> to) const;
  // Computes the checksums of the stored bytes, with constant memory. Returns false if the blob has
  // none. Throws FormatError, with the file and the blob in the message, if one differs, and
  // FileError if the source cannot be read.
  bool verify() const;

 protected:
  Payload payload(uint64_t offset, uint64_t bytes) const;
  std::unique_ptr<std::istream> standalone() const;
  DataStream shared() const;

 private:
  std::unique_ptr<Content> content() const;

  std::shared_ptr<const Source> source_;
  std::shared_ptr<const BlobInfo> info_;
};

class ExecutableReader : public BlobData {
 public:
  explicit ExecutableReader(const BlobData& data, std::string blob_name)
      : BlobData(data), name(std::move(blob_name)), executable(shared()) {}
  std::string name;
  mutable DataStream executable;  // decompresses while reading
  std::unique_ptr<std::istream> getStandaloneExecutableStream() const { return standalone(); }
};

class TensorReader : public BlobData {
 public:
  TensorReader(const BlobData& base, TensorDataInfo data_info, std::string exe)
      : BlobData(base), info(std::move(data_info)), executable(std::move(exe)), data(shared()) {}
  TensorDataInfo info;
  // The model to which the data belongs; empty if it belongs to every model with such an anchor.
  std::string executable;
  mutable DataStream data;
  std::unique_ptr<std::istream> getStandaloneDataStream() const { return standalone(); }
};

class FeedReader : public BlobData {
 public:
  FeedReader(const BlobData& base, FeedDataInfo data_info, std::string exe)
      : BlobData(base), info(std::move(data_info)), executable(std::move(exe)), data(shared()) {}
  FeedDataInfo info;
  std::string executable;
  mutable DataStream data;  // all tensors, contiguous
  std::unique_ptr<std::istream> getStandaloneDataStream() const { return standalone(); }
  // The tensor with index k. Throws SizeError if it does not exist.
  Payload tensor(uint64_t k) const;
};

class OpaqueReader : public BlobData {
 public:
  OpaqueReader(const BlobData& base, std::string blob_name, std::string exe)
      : BlobData(base), name(std::move(blob_name)), executable(std::move(exe)), data(shared()) {}
  std::string name;
  std::string executable;
  mutable DataStream data;
  std::unique_ptr<std::istream> getStandaloneDataStream() const { return standalone(); }
  // The number of bytes from the position of `data` to the end.
  uint64_t getAvailableReadSize() const;
};

// Verifies lists of blobs. Returns the number of blobs without checksums. Throws as
// BlobData::verify().
template <class... Blobs>
size_t verify_blobs(const std::vector<Blobs>&... lists) {
  size_t without = 0;
  const auto each = [&](const auto& list) {
    for (const BlobData& blob : list) without += blob.verify() ? 0 : 1;
  };
  (each(lists), ...);
  return without;
}

// Parse calls accumulate; one that throws adds nothing. Blobs may be in any order. Only one thread
// may parse; afterwards any thread may read.
class Reader {
 public:
  // Throws FileError, FormatError, VersionError, and LinkError if two executables have the same
  // name.
  void parseFile(const std::string& path);
  // Parses `size` bytes from the current position (0: to the end). A stream that cannot seek is
  // read into memory now. Otherwise the reader shares the stream and moves its position whenever it
  // reads. Throws like parseFile().
  void parseStream(std::shared_ptr<std::istream> stream, uint64_t size = 0);
  // `name` is the path if the bytes are those of a file.
  void parseMemory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                   const std::string& name = "memory");
  void parseSource(std::shared_ptr<const Source> source) { parse(std::move(source)); }

  const std::vector<ExecutableReader>& executables() const { return found_.executables; }
  const std::vector<Metadata>& metadata() const { return found_.metadata; }
  const std::vector<TensorReader>& tensors() const { return found_.tensors; }
  const std::vector<FeedReader>& feeds() const { return found_.feeds; }
  const std::vector<OpaqueReader>& opaqueBlobs() const { return found_.opaque_blobs; }

  // Every blob of a known type, in the order of the files.
  const std::vector<BlobInfo>& blobs() const { return found_.blobs; }
  // The blob of each metadata().
  const std::vector<BlobData>& metadataBlobs() const { return found_.metadata_blobs; }
  // Verifies all blobs. Returns the number of those without checksums. Throws as
  // BlobData::verify().
  size_t verify() const;
  // The size of all files, without the rest of an append that did not finish.
  uint64_t parsedBytes() const { return parsed_bytes_; }
  // Findings that are not errors, one line each.
  const std::vector<std::string>& warnings() const { return found_.warnings; }

 private:
  struct Found {
    std::vector<ExecutableReader> executables;
    std::vector<Metadata> metadata;
    std::vector<BlobData> metadata_blobs;
    std::vector<TensorReader> tensors;
    std::vector<FeedReader> feeds;
    std::vector<OpaqueReader> opaque_blobs;
    std::vector<BlobInfo> blobs;
    std::vector<std::string> warnings;
  };
  void parse(std::shared_ptr<const Source> source);
  // Returns the size of the blob; 0 at the beginning of an append that did not finish.
  static uint64_t parse_blob(const std::shared_ptr<const Source>& source, uint64_t offset,
                             Found& found);

  Found found_;
  uint64_t parsed_bytes_ = 0;
};

}  // namespace poprt::popef
