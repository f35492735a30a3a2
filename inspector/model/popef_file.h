// A PopEF file as it is shown: a map of its blobs, its anchors as a table, its data.
//
// A damaged file is opened as far as possible: each blob whose header can be read is tried alone,
// and what is wrong with the others stands in `problems`.
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
  std::string data;  // "tensor", "feed of 8", "" when the caller gives or takes it
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
  uint64_t bytes = 0, tensors = 1;  // of a feed
  bool is_feed = false;
};

struct OpaqueRow {
  std::string name, executable;
  uint64_t bytes = 0;
};

class PopefFile {
 public:
  // Throws only when nothing at all can be read (no such file, no blob).
  explicit PopefFile(const std::filesystem::path& path);

  const std::vector<BlobRow>& blobs() const { return blobs_; }
  const std::vector<AnchorRow>& anchors() const { return anchors_; }
  const std::vector<DataRow>& data() const { return data_; }
  const std::vector<OpaqueRow>& opaque() const { return opaque_; }
  const std::vector<popef::Metadata>& metadata() const { return reader_->metadata(); }
  uint64_t file_bytes() const { return file_bytes_; }
  const std::vector<std::string>& problems() const { return problems_; }

  // Key and value of everything that the metadata of one model says besides anchors.
  std::vector<std::pair<std::string, std::string>> metadata_rows(size_t model) const;
  // Rows of anchors() that hold `filter` in a cell, in the order of a column; only those of a graph
  // of a fused model when its prefix, "graph1/", is given.
  std::vector<size_t> anchor_rows(std::string_view filter, AnchorColumn column, bool descending,
                                  std::string_view prefix = {}) const;

  // The data of row `i` of data(); of a feed with the number of tensors as first dimension. Throws
  // when a compressed payload is damaged.
  Tensor tensor(size_t i) const;
  // What an opaque blob holds: JSON in lines, text, else hex.
  std::string opaque_text(size_t i, size_t most = 1 << 20) const;
  // Equal for equal contents. Throws when a compressed payload is damaged.
  uint64_t opaque_checksum(size_t i) const;
  // Loads the program of executable `i`. Throws as program::read_executable().
  program::LoadedProgram program(size_t i = 0) const;
  size_t executable_count() const { return reader_->executables().size(); }
  std::string executable_name(size_t i) const { return reader_->executables()[i].name; }
  // What its blobs call the variants of executable `i` (model/variant_names.h).
  std::vector<std::string> variants(size_t i = 0) const;
  // Shapes of an anchor at each of several shapes of its model; empty: the model has one.
  std::vector<std::string> shapes_of(const AnchorRow& anchor) const;

 private:
  // Of the blob of that name that belongs to an executable; empty: there is none, or it is damaged.
  std::string opaque_of(std::string_view name, const std::string& executable) const;
  void read_damaged(const std::filesystem::path& path);
  void fill();

  std::shared_ptr<popef::Reader> reader_;
  std::vector<BlobRow> blobs_;
  std::vector<AnchorRow> anchors_;
  std::vector<DataRow> data_;
  std::vector<OpaqueRow> opaque_;
  std::vector<std::string> problems_;
  uint64_t file_bytes_ = 0;
};

// `bytes` in lines of 16 with their offsets and characters.
std::string hex_text(std::span<const std::byte> bytes, size_t most);

}  // namespace poprt::inspector
