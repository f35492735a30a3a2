#include "onnx/model_hash.h"

#include <onnx/onnx_pb.h>

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "onnx/external_data.h"
#include "onnx/wire.h"

namespace poprt::onnx {
namespace {

namespace pb = ::onnx;

// Protobuf's own limit on nesting bounds the depth.
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

std::string hash_bytes(std::span<const std::byte> bytes,
                       const std::optional<std::filesystem::path>& directory, bool allow_links) {
  Locations locations;
  {
    pb::ModelProto model;
    parse_message(bytes, kModelTags, "ONNX model", model);
    locations.graph(model.graph());
    for (const auto& f : model.functions())
      for (const auto& n : f.node()) locations.node(n);
  }
  Sha256 hash;
  hash.add_sized(bytes);
  ExternalFiles files(directory, allow_links);
  for (const std::string& location : locations.found()) {
    hash.add_sized(location);
    hash.add_sized(files.read(location, 0, std::nullopt).bytes);
  }
  return hash.finish();
}

std::string hash_file(const std::filesystem::path& path, bool allow_links) {
  const auto file = MappedFile::open(path);
  try {
    return hash_bytes(file->bytes(), path.parent_path(), allow_links);
  } catch (Error& e) {
    e.add_context(path.string());
    throw;
  }
}

}  // namespace poprt::onnx
