#include "model/popef_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "model/format.h"
#include "model/stable_order.h"
#include "model/variant_names.h"
#include "popef/header.h"
#include "popef/metadata_fields.h"
#include "program/shards.h"
#include "runtime/session/variants.h"

namespace poprt::inspector {
namespace {

// Limits memory, because untrusted files may have millions of headers.
constexpr size_t kMostBlobs = 100000;

std::string programs_text(const popef::Anchor& anchor, const popef::ProgramFlow& flow) {
  std::vector<std::string> words;
  if (anchor.usedBy(flow.load())) words.push_back("load");
  if (anchor.usedBy(flow.main())) words.push_back("main");
  if (anchor.usedBy(flow.save())) words.push_back("save");
  for (const uint32_t p : anchor.programs()) {
    const auto has = [p](const auto& list) {
      return std::find(list.begin(), list.end(), p) != list.end();
    };
    if (!has(flow.load()) && !has(flow.main()) && !has(flow.save()))
      words.push_back(std::to_string(p));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

uint64_t bytes_of(const popef::TensorInfo& info) {
  try {
    return info.sizeInBytes();
  } catch (const Error&) {
    return 0;
  }
}

std::string value_text(bool value) { return value ? "yes" : "no"; }
std::string value_text(const std::string& value) {
  return value.empty() ? "none" : printable(value);
}
template <std::integral Number>
std::string value_text(Number value) {
  return std::to_string(value);
}

std::string indices_text(const popef::ProgramFlow::Indices& indices,
                         const popef::Metadata::ProgramsMap& names) {
  std::vector<std::string> words;
  for (const uint32_t i : indices) {
    const auto found = names.find(i);
    words.push_back(found == names.end() ? std::to_string(i)
                                         : fmt::format("{} {}", i, printable(found->second)));
  }
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

const char* anchor_column_name(AnchorColumn column) {
  static constexpr const char* names[kAnchorColumns] = {
      "Name", "Direction", "Type", "Shape", "Bytes", "Programs", "Per replica", "Handle", "Data"};
  return names[static_cast<size_t>(column)];
}

std::string anchor_cell(const AnchorRow& row, AnchorColumn column) {
  switch (column) {
    case AnchorColumn::name: return row.name;
    case AnchorColumn::direction: return row.direction;
    case AnchorColumn::dtype: return row.dtype;
    case AnchorColumn::shape: return row.shape;
    case AnchorColumn::bytes: return bytes_text(row.bytes);
    case AnchorColumn::programs: return row.programs;
    case AnchorColumn::per_replica: return row.per_replica ? "yes" : "no";
    case AnchorColumn::handle: return row.handle;
    case AnchorColumn::data: return row.data;
  }
  return {};
}

PopefFile::PopefFile(const std::filesystem::path& path)
    : reader_(std::make_shared<popef::Reader>()) {
  file_bytes_ = MappedFile::open(path)->bytes().size();
  try {
    reader_->parseFile(path.string());
  } catch (const Error& e) {
    problems_.push_back(printable(e.what()));
    damaged_ = true;
    read_damaged(path);
    if (reader_->blobs().empty()) throw;
  }
  for (const std::string& warning : reader_->warnings()) problems_.push_back(printable(warning));
  fill();
}

// Reads each blob as a separate file, so that a damaged blob does not affect the others.
void PopefFile::read_damaged(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  uint64_t offset = 0;
  while (offset < bytes.size() && blobs_.size() < kMostBlobs) {
    const auto rest = bytes.subspan(offset);
    if (rest.size() < popef::kHeaderBytes) break;
    uint64_t size = 0;
    try {
      size = popef::decode_header(rest.first(popef::kHeaderBytes), offset, rest.size()).size;
    } catch (const Error&) {
      break;  // the header with the position of the next blob is damaged
    }
    if (size == 0 || size > rest.size()) break;
    const size_t known = reader_->blobs().size();
    try {
      reader_->parseMemory(rest.first(size), file);
    } catch (const Error&) {
      problems_.push_back(
          fmt::format("the blob at offset {} cannot be read and is omitted", offset));
    }
    for (size_t i = known; i < reader_->blobs().size(); i++) {
      const popef::BlobInfo& b = reader_->blobs()[i];
      blobs_.push_back({std::string(popef::blob_type_name(b.type)), printable(b.name), offset,
                        b.size, b.payload_bytes, b.raw_bytes, b.compressed});
    }
    offset += size;
  }
  if (offset < bytes.size())
    problems_.push_back(fmt::format("the file cannot be read from offset {} on", offset));
}

void PopefFile::fill() {
  if (blobs_.empty())
    for (const popef::BlobInfo& b : reader_->blobs())
      blobs_.push_back({std::string(popef::blob_type_name(b.type)), printable(b.name), b.offset,
                        b.size, b.payload_bytes, b.raw_bytes, b.compressed});
  const auto row_of = [](const popef::TensorDataInfo& info, const std::string& executable) {
    DataRow row;
    row.name = printable(info.name());
    row.executable = printable(executable);
    row.dtype = popef::data_type_name(info.tensorInfo().dataType());
    row.shape = dimensions_text(info.tensorInfo().shape());
    row.bytes = bytes_of(info.tensorInfo());
    return row;
  };
  for (const auto& t : reader_->tensors()) data_.push_back(row_of(t.info, t.executable));
  for (const auto& f : reader_->feeds()) {
    DataRow row = row_of(f.info, f.executable);
    row.is_feed = true;
    row.tensors = f.info.numTensors();
    row.bytes *= row.tensors;
    data_.push_back(std::move(row));
  }
  for (const auto& o : reader_->opaqueBlobs())
    opaque_.push_back({printable(o.name), printable(o.executable), o.size()});
  for (const popef::Metadata& m : reader_->metadata())
    for (const popef::Anchor& a : m.anchors()) {
      AnchorRow row;
      row.model = printable(m.executable());
      row.name = printable(a.name());
      row.handle = printable(a.handle());
      row.direction = popef::tensor_type_name(a.type());
      row.dtype = popef::data_type_name(a.tensorInfo().dataType());
      row.shape = dimensions_text(a.tensorInfo().shape());
      row.bytes = bytes_of(a.tensorInfo());
      row.programs = programs_text(a, m.programFlow());
      row.per_replica = a.isPerReplica();
      for (const DataRow& d : data_)
        if (d.name == row.name && (d.executable.empty() || d.executable == row.model))
          row.data = d.is_feed ? fmt::format("feed of {}", d.tensors) : "tensor";
      anchors_.push_back(std::move(row));
    }
}

std::vector<std::pair<std::string, std::string>> PopefFile::metadata_rows(size_t model) const {
  const popef::Metadata& m = reader_->metadata()[model];
  const auto& names = m.programsMap();
  std::vector<std::pair<std::string, std::string>> rows;
  popef::for_each_metadata_field(
      [&](const auto& f) { rows.emplace_back(f.label, value_text((m.*f.get)())); });
  for (const auto& [name, programs] : {std::pair("load programs", &m.programFlow().load()),
                                       std::pair("main programs", &m.programFlow().main()),
                                       std::pair("save programs", &m.programFlow().save())})
    rows.emplace_back(name, indices_text(*programs, names));
  for (TextRows more : {variant_rows(opaque_of(runtime::kVariants, m.executable())),
                        shard_rows(opaque_of(program::kShards, m.executable()))})
    std::ranges::move(more, std::back_inserter(rows));
  for (const auto& o : m.engineOptions())
    rows.emplace_back("engine option " + printable(o.name()), printable(o.value()));
  for (const auto& o : m.deviceOptions())
    rows.emplace_back("device option " + printable(o.name()), printable(o.value()));
  return rows;
}

std::string PopefFile::opaque_of(std::string_view name, const std::string& executable) const {
  for (const auto& o : reader_->opaqueBlobs()) {
    if (o.name != name || (!o.executable.empty() && o.executable != executable)) continue;
    try {
      const popef::Payload payload = o.payload();
      return {reinterpret_cast<const char*>(payload.bytes.data()), payload.bytes.size()};
    } catch (const Error&) {  // the compressed payload is damaged
    }
  }
  return {};
}

std::vector<std::string> PopefFile::variants(size_t i) const {
  return variant_names(opaque_of(runtime::kVariants, executable_name(i)));
}

std::vector<std::string> PopefFile::shapes_of(const AnchorRow& anchor) const {
  for (const popef::Metadata& m : reader_->metadata())
    if (printable(m.executable()) == anchor.model)
      return bucket_shapes(opaque_of(runtime::kVariants, m.executable()), anchor.name);
  return {};
}

std::vector<size_t> PopefFile::anchor_rows(std::string_view filter, AnchorColumn column,
                                           bool descending, std::string_view prefix) const {
  std::vector<size_t> rows;
  for (size_t i = 0; i < anchors_.size(); i++)
    for (int c = 0; c < kAnchorColumns && anchors_[i].name.starts_with(prefix); c++)
      if (contains_text(anchor_cell(anchors_[i], static_cast<AnchorColumn>(c)), filter)) {
        rows.push_back(i);
        break;
      }
  stable_order(rows, [&](size_t a, size_t b) {
    const AnchorRow& x = anchors_[descending ? b : a];
    const AnchorRow& y = anchors_[descending ? a : b];
    if (column == AnchorColumn::bytes || column == AnchorColumn::shape) return x.bytes < y.bytes;
    return natural_less(anchor_cell(x, column), anchor_cell(y, column));
  });
  return rows;
}

Tensor PopefFile::tensor(size_t i) const {
  const size_t tensors = reader_->tensors().size();
  const popef::BlobData& blob = i < tensors
                                    ? static_cast<const popef::BlobData&>(reader_->tensors()[i])
                                    : reader_->feeds()[i - tensors];
  const popef::TensorInfo& info = i < tensors ? reader_->tensors()[i].info.tensorInfo()
                                              : reader_->feeds()[i - tensors].info.tensorInfo();
  Shape shape = info.shape();
  if (i >= tensors)
    shape.insert(shape.begin(),
                 static_cast<int64_t>(reader_->feeds()[i - tensors].info.numTensors()));
  const popef::Payload payload = blob.payload();
  return Tensor::view(popef::dtype_of(info.dataType()), std::move(shape), payload.bytes.data(),
                      payload.bytes.size(), payload.owner);
}

namespace {

// Whether lists and mappings are nested deeply. Brackets in strings are not counted.
bool is_nested_deep(std::string_view json) {
  constexpr int kDeep = 64;
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); i++) {
    const char c = json[i];
    if (c == '"') in_string = !in_string;
    if (c == '\\') i++;  // the next character is escaped
    if (in_string) continue;
    if (c == '[' || c == '{') depth++;
    if (c == ']' || c == '}') depth--;
    if (depth > kDeep) return true;
  }
  return false;
}

}  // namespace

std::string PopefFile::opaque_text(size_t i, size_t most) const {
  const popef::Payload payload = reader_->opaqueBlobs()[i].payload();
  const std::string_view text(reinterpret_cast<const char*>(payload.bytes.data()),
                              payload.bytes.size());
  // Indented printing of a megabyte of brackets would need terabytes of text and a very deep stack.
  if (text.size() <= most && !is_nested_deep(text)) {
    const auto json = try_parse_json(text);
    if (!json.is_discarded()) return json_text(json, 2);
  }
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || c == '\t' || c == '\r' ||
           (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  });
  if (plain && text.size() <= most) {
    std::string lines;
    size_t begin = 0;
    while (begin <= text.size()) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      lines += printable(text.substr(begin, end - begin)) + (end < text.size() ? "\n" : "");
      begin = end + 1;
    }
    return lines;
  }
  return hex_text(payload.bytes, most);
}

uint64_t PopefFile::opaque_checksum(size_t i) const {
  uint64_t hash = 1469598103934665603u;  // FNV-1a
  for (const std::byte b : reader_->opaqueBlobs()[i].payload().bytes)
    hash = (hash ^ static_cast<uint64_t>(b)) * 1099511628211u;
  return hash;
}

program::LoadedProgram PopefFile::program(size_t i) const {
  const popef::Payload payload = reader_->executables()[i].payload();
  return program::read_executable(payload.bytes, payload.owner);
}

std::string hex_text(std::span<const std::byte> bytes, size_t most) {
  std::string text;
  // A line of 16 bytes has about 75 characters.
  const size_t shown = std::min(bytes.size(), most / 4);
  for (size_t line = 0; line < shown; line += 16) {
    std::string hex, characters;
    for (size_t i = line; i < std::min(line + 16, shown); i++) {
      const auto c = static_cast<unsigned char>(bytes[i]);
      hex += fmt::format("{:02x} ", c);
      characters += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '.';
    }
    text += fmt::format("{:08x}  {:<48} {}\n", line, hex, characters);
  }
  if (shown < bytes.size()) text += fmt::format("… {} bytes in all\n", bytes.size());
  return text;
}

}  // namespace poprt::inspector
