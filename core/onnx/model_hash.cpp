#include "onnx/model_hash.h"

#include <onnx/onnx_pb.h>

#include <set>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "codecs/sha256.h"
#include "onnx/external_data.h"
#include "onnx/wire.h"

namespace poprt::onnx {
namespace {

namespace pb = ::onnx;

// The recursion is bounded by protobuf's limit on nesting.
class Locations {
 public:
  void graph(const pb::GraphProto& g) {
    for (const auto& t : g.initializer()) tensor(t);
    for (const auto& t : g.sparse_initializer()) sparse(t);
    for (const auto& n : g.node()) node(n);
  }
  void node(const pb::NodeProto& n) {
    for (const auto& a : n.attribute()) attribute(a);
  }
  const std::set<std::string>& found() const { return found_; }

 private:
  void tensor(const pb::TensorProto& t) {
    for (const auto& entry : t.external_data())
      if (entry.key() == "location") found_.insert(entry.value());
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

  std::set<std::string> found_;
};

}  // namespace

std::vector<ModelFile> files_of(std::span<const std::byte> bytes,
                                const std::optional<std::filesystem::path>& directory,
                                bool allow_links) {
  Locations locations;
  // Parsing copies the weights. Most models have no external data; then the key of an external
  // tensor's entry does not occur in the bytes, and parsing is skipped.
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.find("location") != text.npos) {
    pb::ModelProto model;
    parse_message(bytes, kModelTags, "ONNX model", model);
    locations.graph(model.graph());
    for (const auto& f : model.functions())
      for (const auto& n : f.node()) locations.node(n);
  }
  std::vector<ModelFile> files = {{"", bytes, nullptr}};
  ExternalFiles external(directory, allow_links);
  for (const std::string& location : locations.found()) {
    const ExternalFiles::Bytes data = external.read(location, 0, std::nullopt);
    files.push_back({location, data.bytes, data.owner});
  }
  return files;
}

std::vector<ModelFile> files_of(const std::filesystem::path& path, bool allow_links) {
  const auto file = MappedFile::open(path);
  try {
    auto files = files_of(file->bytes(), path.parent_path(), allow_links);
    files[0].owner = file;
    return files;
  } catch (Error& e) {
    e.add_context(path.string());
    throw;
  }
}

std::string hash_of(std::span<const ModelFile> files) {
  Sha256 hash;
  for (const ModelFile& f : files) {
    if (!f.location.empty()) hash.add_sized(f.location);
    hash.add_sized(f.bytes);
  }
  return hash.finish();
}

std::string hash_bytes(std::span<const std::byte> bytes,
                       const std::optional<std::filesystem::path>& directory, bool allow_links) {
  return hash_of(files_of(bytes, directory, allow_links));
}

std::string hash_file(const std::filesystem::path& path, bool allow_links) {
  return hash_of(files_of(path, allow_links));
}

}  // namespace poprt::onnx
