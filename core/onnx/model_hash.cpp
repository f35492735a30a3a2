#include "onnx/model_hash.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "codecs/sha256.h"
#include "onnx/external_data.h"
#include "onnx/functions.h"
#include "onnx/split_model.h"
#include "onnx/wire.h"

namespace poprt::onnx {
namespace {

namespace pb = ::onnx;

constexpr uint64_t kToTheEnd = ~uint64_t{0};

// Collects the parts of external files that tensors use. parse_message() bounds the recursion,
// because it limits the nesting of messages.
class Locations {
 public:
  void graph(const pb::GraphProto& g) {
    for (const auto& t : g.initializer()) tensor(t);
    for (const auto& t : g.sparse_initializer()) sparse(t);
    for (const auto& n : g.node()) node(n);
  }
  void function(const pb::FunctionProto& f) {
    for (const auto& n : f.node()) node(n);
    for (const auto& a : attribute_defaults(f)) attribute(a);
  }
  // The parts of each file, in any order. They may be outside of the file.
  const std::map<std::string, std::vector<ModelFile::Part>>& found() const { return found_; }

 private:
  void node(const pb::NodeProto& n) {
    for (const auto& a : n.attribute()) attribute(a);
  }
  void tensor(const pb::TensorProto& t) {
    std::string location;
    bool external = false;
    uint64_t offset = 0, length = kToTheEnd;
    for (const auto& entry : t.external_data()) {
      if (entry.key() == "location") {
        location = entry.value();
        external = true;
      }
      if (entry.key() == "offset") offset = number(entry.value(), 0);
      if (entry.key() == "length") length = number(entry.value(), kToTheEnd);
    }
    if (!external) return;
    uint64_t end = 0;
    if (__builtin_add_overflow(offset, length, &end)) end = kToTheEnd;
    found_[location].push_back({offset, end});
  }
  void sparse(const pb::SparseTensorProto& t) {
    tensor(t.values());
    tensor(t.indices());
  }
  void attribute(const pb::AttributeProto& a) {
    if (a.has_t()) tensor(a.t());
    if (a.has_sparse_tensor()) sparse(a.sparse_tensor());
    if (a.has_g()) graph(a.g());
    for (const auto& t : a.tensors()) tensor(t);
    for (const auto& t : a.sparse_tensors()) sparse(t);
    for (const auto& g : a.graphs()) graph(g);
  }

  static uint64_t number(const std::string& text, uint64_t otherwise) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : otherwise;
  }

  std::map<std::string, std::vector<ModelFile::Part>> found_;
};

// Sorts the parts of a file, cuts them at its end, and joins those with small gaps. A small gap at
// the beginning or the end of the file becomes a part of its neighbour. For example, parts [128,
// 4096) and [4160, 9000) of a file of 9001 bytes become [0, 9001).
std::vector<ModelFile::Part> joined_parts(std::vector<ModelFile::Part> parts, uint64_t size) {
  std::ranges::sort(parts, {}, &ModelFile::Part::begin);
  std::vector<ModelFile::Part> joined;
  for (const auto& [begin, end] : parts) {
    if (begin >= size || begin >= end) continue;
    const ModelFile::Part part{begin, std::min(end, size)};
    const uint64_t before = joined.empty() ? 0 : joined.back().end;
    if (part.begin > before && part.begin - before > kSmallGap) {
      joined.push_back(part);
    } else if (joined.empty()) {
      joined.push_back({0, part.end});
    } else {
      joined.back().end = std::max(joined.back().end, part.end);
    }
  }
  if (!joined.empty() && size - joined.back().end <= kSmallGap) joined.back().end = size;
  return joined;
}

}  // namespace

std::vector<ModelFile> open_model_files(std::span<const std::byte> bytes,
                                        const std::optional<std::filesystem::path>& directory,
                                        bool allow_links, bool copy) {
  // Refuses a file of another kind here, because it may have any size, and the import, which also
  // refuses it, may run at the same time on another thread.
  check_message(bytes, kModelTags, "ONNX model");
  Locations locations;
  // Parsing copies the weights. Most models have no external data; then the key of an external
  // tensor's entry does not occur in the bytes, and parsing is skipped.
  const std::optional<SplitModel> split = split_model(bytes);
  const std::span<const std::byte> rest = split ? std::as_bytes(std::span(split->rest)) : bytes;
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  if (text.find("location") != text.npos) {
    pb::ModelProto model;
    parse_message(rest, kModelTags, "ONNX model", model);
    locations.graph(model.graph());
    for (const auto& f : model.functions()) locations.function(f);
  }
  std::vector<ModelFile> files = {{"", bytes, nullptr, {{0, bytes.size()}}, nullptr}};
  ExternalFiles external(directory, allow_links);
  for (const auto& [location, parts] : locations.found()) {
    const ExternalFiles::Bytes data = external.read(location, 0, std::nullopt);
    files.push_back(
        {location, data.bytes, data.owner, joined_parts(parts, data.bytes.size()), nullptr, copy});
  }
  return files;
}

std::vector<ModelFile> open_model_files(const std::filesystem::path& path, bool allow_links,
                                        bool copy) {
  const auto file = MappedFile::open(path, !copy);
  try {
    std::span<const std::byte> bytes = file->bytes();
    std::shared_ptr<const void> owner = file;
    if (copy) {
      const auto copied = std::make_shared<std::vector<std::byte>>(bytes.size());
      copy_mapped(bytes, *copied);
      bytes = *copied;
      owner = copied;
    }
    auto files = open_model_files(bytes, path.parent_path(), allow_links, copy);
    files[0].owner = owner;
    if (!copy) files[0].file = file;
    return files;
  } catch (Error& e) {
    e.add_context(path.string());
    throw;
  }
}

namespace {

// Adds files to a hash, and reports how much of them it has read.
class FileHash {
 public:
  FileHash(std::span<const ModelFile> files, const std::function<void(double)>& progress)
      : progress_(progress) {
    for (const ModelFile& f : files)
      if (is_whole(f))
        total_ += f.bytes.size();
      else
        for (const auto& [begin, end] : f.parts) total_ += end - begin;
  }

  static bool is_whole(const ModelFile& f) {
    return f.location.empty() || f.bytes.empty() ||
           (f.parts.size() == 1 && f.parts[0].begin == 0 && f.parts[0].end == f.bytes.size());
  }

  void add_text(std::string_view text) { hash_.add_sized(text); }
  // The same as add_sized() of bytes [begin, end) of the file.
  void add_part(const ModelFile& file, uint64_t begin, uint64_t end) {
    const uint64_t size = end - begin;
    hash_.add(std::as_bytes(std::span(&size, 1)));
    for (uint64_t at = begin; at < end; at += kHashPiece) {
      const auto piece = file.bytes.subspan(at, std::min(kHashPiece, end - at));
      add(file, piece);
      done_ += piece.size();
      if (progress_) progress_(static_cast<double>(done_) / static_cast<double>(total_));
    }
  }
  std::string finish() { return hash_.finish(); }

 private:
  void add(const ModelFile& file, std::span<const std::byte> bytes) {
    if (!file.may_be_truncated && !file.file) {
      hash_.add(bytes);
      return;
    }
    constexpr size_t kCopied = size_t{1} << 18;
    for (size_t at = 0; at < bytes.size(); at += copied_.size()) {
      copied_.resize(std::min(kCopied, bytes.size() - at));
      const auto piece = bytes.subspan(at, copied_.size());
      if (file.file)
        file.file->read(static_cast<uint64_t>(piece.data() - file.bytes.data()), copied_);
      else
        copy_mapped(piece, copied_);
      hash_.add(copied_);
    }
  }

  const std::function<void(double)>& progress_;
  Sha256 hash_;
  std::vector<std::byte> copied_;
  uint64_t total_ = 0, done_ = 0;
};

}  // namespace

void require_not_read(const std::filesystem::path& path, const std::filesystem::path& model) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return;
  std::vector<ModelFile> files;
  try {
    files = open_model_files(model, true);
  } catch (const Error&) {
    return;
  }
  for (const ModelFile& f : files) {
    const fs::path read = f.location.empty() ? model : model.parent_path() / f.location;
    if (fs::equivalent(read, path, none))
      fail(ErrorCode::invalid_argument,
           "cannot write '{}': it is the same file as '{}'{}, which would be overwritten; give "
           "another path",
           path.string(), read.string(),
           f.location.empty() ? "" : fmt::format(", which has tensors of '{}'", model.string()));
  }
}

std::string copy_of(const ModelFile& file) {
  std::string copied(file.bytes.size(), '\0');
  const std::span to(reinterpret_cast<std::byte*>(copied.data()), copied.size());
  if (file.may_be_truncated)
    copy_mapped(file.bytes, to);
  else
    std::ranges::copy(file.bytes, to.begin());
  return copied;
}

std::string hash_of(std::span<const ModelFile> files, const std::function<void(double)>& progress) {
  FileHash hash(files, progress);
  for (const ModelFile& f : files) {
    if (!f.location.empty()) hash.add_text(f.location);
    if (FileHash::is_whole(f)) {
      hash.add_part(f, 0, f.bytes.size());
      continue;
    }
    for (const auto& [begin, end] : f.parts) {
      hash.add_text(fmt::format("from {}", begin));
      hash.add_part(f, begin, end);
    }
  }
  return hash.finish();
}

std::string hash_bytes(std::span<const std::byte> bytes,
                       const std::optional<std::filesystem::path>& directory, bool allow_links) {
  return hash_of(open_model_files(bytes, directory, allow_links));
}

std::string hash_file(const std::filesystem::path& path, bool allow_links) {
  return hash_of(open_model_files(path, allow_links));
}

}  // namespace poprt::onnx
