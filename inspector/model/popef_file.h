// The displayed form of a PopEF file: a map of its blobs, a table of anchors, and its data.
//
// As much as possible of a damaged file is opened: each blob with a readable header is read
// separately, and `problems` has the errors of the others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "popef/reader.h"
#include "program/serialize.h"

namespace poprt::inspector {

struct BlobRow {
  std::string type, name;
  uint64_t offset = 0, size = 0, payload_bytes = 0, raw_bytes = 0;
  bool compressed = false;
};

struct AnchorRow {
  std::string model, name, handle, direction;  // "INPUT", "OUTPUT", "UNKNOWN"
  std::string dtype, shape;
  std::string programs;  // "main", "load main"
  uint64_t bytes = 0;
  bool per_replica = false;
  std::string data;  // "tensor", "feed of 8", or "" if the caller provides or receives it
};

enum class AnchorColumn {
  name,
  direction,
  dtype,
  shape,
  bytes,
  programs,
  per_replica,
  handle,
  data
};
inline constexpr int kAnchorColumns = 9;
const char* anchor_column_name(AnchorColumn column);
std::string anchor_cell(const AnchorRow& row, AnchorColumn column);

struct DataRow {
  std::string name, executable, dtype, shape;
  uint64_t bytes = 0, tensors = 1;  // number of tensors of a feed
  bool is_feed = false;
};

struct OpaqueRow {
  std::string name, executable;
  uint64_t bytes = 0;
};

class PopefFile {
 public:
  // Throws only if nothing can be read: there is no such file, or it contains no blob.
  explicit PopefFile(const std::filesystem::path& path);

  const std::vector<BlobRow>& blobs() const { return blobs_; }
  const std::vector<AnchorRow>& anchors() const { return anchors_; }
  const std::vector<DataRow>& data() const { return data_; }
  const std::vector<OpaqueRow>& opaque() const { return opaque_; }
  const std::vector<popef::Metadata>& metadata() const { return reader_->metadata(); }
  uint64_t file_bytes() const { return file_bytes_; }
  const std::vector<std::string>& problems() const { return problems_; }
  // Whether a part of the file cannot be read. The first problem is the reason.
  bool is_damaged() const { return damaged_; }

  // Keys and values of one model's metadata except its anchors, and of its variants and IPUs.
  std::vector<std::pair<std::string, std::string>> metadata_rows(size_t model) const;
  // Rows of anchors() that contain `filter` in a cell, sorted by a column (shapes by their bytes).
  // A prefix such as "graph1/" selects the rows of this graph of a fused model.
  std::vector<size_t> anchor_rows(std::string_view filter, AnchorColumn column, bool descending,
                                  std::string_view prefix = {}) const;

  // Data of row `i` of data(). The first dimension of a feed is the number of its tensors. Throws
  // if a compressed payload is damaged.
  Tensor tensor(size_t i) const;
  // The contents of an opaque blob: indented JSON, text, or else (also if it has more than `most`
  // bytes) hex. Throws if a compressed payload is damaged.
  std::string opaque_text(size_t i, size_t most = 1 << 20) const;
  // Equal contents have equal checksums. Throws if a compressed payload is damaged.
  uint64_t opaque_checksum(size_t i) const;
  // Loads the program of executable `i`. Throws like program::read_executable().
  program::LoadedProgram program(size_t i = 0) const;
  size_t executable_count() const { return reader_->executables().size(); }
  std::string executable_name(size_t i) const { return reader_->executables()[i].name; }
  // Names of the variants of executable `i` from its blobs (model/variant_names.h).
  std::vector<std::string> variants(size_t i = 0) const;
  // Shapes of an anchor at each shape of its model. Empty if the model has one shape.
  std::vector<std::string> shapes_of(const AnchorRow& anchor) const;

 private:
  // Contents of the blob with that name that belongs to an executable. Empty if it is missing or
  // damaged.
  std::string opaque_of(std::string_view name, const std::string& executable) const;
  void read_damaged(const std::filesystem::path& path);
  void fill();

  std::shared_ptr<popef::Reader> reader_;
  std::vector<BlobRow> blobs_;
  std::vector<AnchorRow> anchors_;
  std::vector<DataRow> data_;
  std::vector<OpaqueRow> opaque_;
  std::vector<std::string> problems_;
  bool damaged_ = false;
  uint64_t file_bytes_ = 0;
};

// The first `most` / 4 bytes in lines of 16, with offsets and characters.
std::string hex_text(std::span<const std::byte> bytes, size_t most);

}  // namespace poprt::inspector
