#include "onnx/export.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "onnx/elem_type.h"
#include "onnx/import.h"
#include "onnx/limits.h"
#include "onnx/model_hash.h"
#include "onnx/tensor_proto.h"
#include "onnx/wire.h"

namespace poprt::onnx {
namespace {

namespace pb = ::onnx;
using google::protobuf::io::CodedOutputStream;

// Fields whose payload is written directly, so that weights are not copied into a message.
constexpr uint32_t kModelGraphTag = 7 << 3 | 2;
constexpr uint32_t kGraphInitializerTag = 5 << 3 | 2;
constexpr uint32_t kTensorRawDataTag = 9 << 3 | 2;

int64_t parse_or(const std::map<std::string, std::string>& metadata, const std::string& key,
                 int64_t fallback) {
  const auto it = metadata.find(key);
  if (it == metadata.end()) return fallback;
  int64_t value = 0;
  const char* end = it->second.data() + it->second.size();
  const auto [at, error] = std::from_chars(it->second.data(), end, value);
  return error == std::errc() && at == end ? value : fallback;
}

// The IR version of the ONNX release that introduced an opset, from onnx.proto, enum Version, and
// the table of releases in ONNX's docs/Versioning.md.
int64_t ir_version_for_opset(int64_t opset) {
  constexpr std::pair<int64_t, int64_t> kSince[] = {
      {28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}, {15, 8}, {12, 7}, {11, 6}, {10, 5},
  };
  for (const auto& [since, ir] : kSince)
    if (opset >= since) return ir;
  return 4;
}

bool is_known(const ir::ValueType& type) {
  return type.dtype != DType::undefined || type.has_shape;
}

void write_type(const ir::ValueType& type, pb::ValueInfoProto& info) {
  if (!is_known(type)) return;
  auto* tensor = info.mutable_type()->mutable_tensor_type();
  if (type.dtype != DType::undefined) tensor->set_elem_type(elem_type_from_dtype(type.dtype));
  if (!type.has_shape) return;
  auto* shape = tensor->mutable_shape();
  for (size_t i = 0; i < type.shape.size(); i++) {
    auto* dim = shape->add_dim();
    if (type.shape[i] != kUnknownDim)
      dim->set_dim_value(type.shape[i]);
    else if (i < type.symbols.size() && !type.symbols[i].empty())
      dim->set_dim_param(type.symbols[i]);
  }
}

struct Initializer {
  std::string name;
  const Tensor* tensor;
};

class GraphWriter {
 public:
  explicit GraphWriter(const ExportOptions& options) : options_(options) {}

  // Writes the graph to `proto`. Its constants are appended to `initializers`, or, if
  // `initializers` is null, written to `proto` too.
  void write(const ir::Graph& graph, pb::GraphProto& proto,
             std::vector<Initializer>* initializers) {
    proto.set_name(graph.name.empty() ? "graph" : graph.name);
    name_values(graph);
    for (const ir::Value* v : graph.inputs()) {
      if (v->is_constant()) continue;
      pb::ValueInfoProto* info = proto.add_input();
      info->set_name(names_.at(v));
      write_type(v->type, *info);
    }
    for (const ir::Value* v : graph.values()) {
      if (!v->is_constant()) continue;
      if (initializers)
        initializers->push_back({names_.at(v), &v->constant()});
      else
        *proto.add_initializer() = make_tensor_proto(names_.at(v), v->constant());
    }
    // ONNX Runtime refuses two nodes with one name in a graph, but rewrites give new nodes the
    // names of old ones.
    std::unordered_set<std::string> node_names;
    for (const ir::Node* n : graph.nodes()) {
      pb::NodeProto& node = *proto.add_node();
      if (!n->name.empty()) node.set_name(unused(n->name, node_names));
      write_node(*n, node);
    }
    for (const ir::Value* v : graph.outputs()) {
      std::string name = names_.at(v);
      if (&v->graph() != &graph) {
        // An output of a subgraph must belong to the subgraph.
        pb::NodeProto* identity = proto.add_node();
        identity->set_op_type("Identity");
        identity->add_input(name);
        name = unused_name(name);
        identity->add_output(name);
      }
      pb::ValueInfoProto* info = proto.add_output();
      info->set_name(name);
      write_type(v->type, *info);
    }
    if (!options_.value_info) return;
    for (const ir::Value* v : graph.values()) {
      if (!v->producer() || !is_known(v->type) || graph.is_output(v) || is_omitted(*v)) continue;
      pb::ValueInfoProto* info = proto.add_value_info();
      info->set_name(names_.at(v));
      write_type(v->type, *info);
    }
  }

  const std::unordered_set<std::string>& domains() const { return domains_; }

 private:
  // Whether the value is an optional output that was omitted in the imported model and is still
  // unused.
  static bool is_omitted(const ir::Value& value) {
    return value.name().starts_with(kOmittedName) && value.producer() && value.uses().empty() &&
           !value.graph().is_output(&value);
  }

  static std::string unused(const std::string& stem, std::unordered_set<std::string>& taken) {
    std::string name = stem;
    for (uint64_t i = 0; !taken.insert(name).second; i++) name = fmt::format("{}_{}", stem, i);
    return name;
  }
  std::string unused_name(const std::string& stem) { return unused(stem, taken_); }

  // ONNX requires names to be unique among all graphs that see each other; the IR requires it per
  // graph. Names are assigned from the outermost graph inwards, so the names of the outermost graph
  // do not change.
  void name_values(const ir::Graph& graph) {
    for (const ir::Value* v : graph.values()) names_[v] = unused_name(v->name());
  }

  void write_node(const ir::Node& node, pb::NodeProto& proto) {
    proto.set_op_type(node.op_type);
    if (!node.domain.empty() && node.domain != "ai.onnx") proto.set_domain(node.domain);
    domains_.insert(node.domain);
    for (const ir::Value* v : node.inputs()) proto.add_input(v ? names_.at(v) : std::string());
    for (const ir::Value* v : node.outputs())
      proto.add_output(is_omitted(*v) ? std::string() : names_.at(v));
    for (const auto& [key, value] : node.attributes) {
      pb::AttributeProto& a = *proto.add_attribute();
      a.set_name(key);
      std::visit([&](const auto& v) { write_attribute(v, a); }, value);
    }
  }

  void write_attribute(int64_t v, pb::AttributeProto& a) {
    a.set_type(pb::AttributeProto::INT);
    a.set_i(v);
  }
  void write_attribute(float v, pb::AttributeProto& a) {
    a.set_type(pb::AttributeProto::FLOAT);
    a.set_f(v);
  }
  void write_attribute(const std::string& v, pb::AttributeProto& a) {
    a.set_type(pb::AttributeProto::STRING);
    a.set_s(v);
  }
  void write_attribute(const Tensor& v, pb::AttributeProto& a) {
    a.set_type(pb::AttributeProto::TENSOR);
    *a.mutable_t() = make_tensor_proto({}, v);
  }
  void write_attribute(const std::vector<int64_t>& v, pb::AttributeProto& a) {
    a.set_type(pb::AttributeProto::INTS);
    a.mutable_ints()->Add(v.begin(), v.end());
  }
  void write_attribute(const std::vector<float>& v, pb::AttributeProto& a) {
    a.set_type(pb::AttributeProto::FLOATS);
    a.mutable_floats()->Add(v.begin(), v.end());
  }
  void write_attribute(const std::vector<std::string>& v, pb::AttributeProto& a) {
    a.set_type(pb::AttributeProto::STRINGS);
    for (const std::string& s : v) a.add_strings(s);
  }
  void write_attribute(const std::vector<Tensor>& v, pb::AttributeProto& a) {
    a.set_type(pb::AttributeProto::TENSORS);
    for (const Tensor& t : v) *a.add_tensors() = make_tensor_proto({}, t);
  }
  void write_attribute(const std::shared_ptr<ir::Graph>& v, pb::AttributeProto& a) {
    a.set_type(pb::AttributeProto::GRAPH);
    write(*v, *a.mutable_g(), nullptr);
  }
  void write_attribute(const std::vector<std::shared_ptr<ir::Graph>>& v, pb::AttributeProto& a) {
    a.set_type(pb::AttributeProto::GRAPHS);
    for (const auto& g : v) write(*g, *a.add_graphs(), nullptr);
  }

  const ExportOptions& options_;
  std::unordered_map<const ir::Value*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_set<std::string> domains_;
};

using Sink = std::function<void(std::span<const std::byte>)>;

void put(const Sink& sink, std::string_view bytes) {
  sink(std::as_bytes(std::span<const char>(bytes.data(), bytes.size())));
}

std::string field_head(uint32_t tag, uint64_t length) {
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    CodedOutputStream coded(&stream);
    coded.WriteVarint32(tag);
    coded.WriteVarint64(length);
  }
  return out;
}

// A model in pieces: two messages followed by the initializers, so that weights are written
// directly from their tensors to the sink.
class ModelWriter {
 public:
  ModelWriter(const ir::Graph& graph, const ExportOptions& options) {
    pb::ModelProto model;
    pb::GraphProto proto;
    GraphWriter writer(options);
    writer.write(graph, proto, &initializers_);
    write_header(graph, writer, model);
    if (const auto it = graph.metadata.find("graph.doc_string"); it != graph.metadata.end())
      proto.set_doc_string(it->second);
    constexpr std::string_view kRest = "the part of the model that is never external data";
    model_ = serialize_message(model, kRest);
    graph_ = serialize_message(proto, kRest);
    for (const Initializer& i : initializers_) {
      const pb::TensorProto header = tensor_header(i.name, *i.tensor);
      headers_.push_back(serialize_message(header, "a tensor"));
      Piece piece;
      piece.raw = i.tensor->dtype() != DType::string;
      pieces_.push_back(piece);
    }
  }

  // Writes the tensors of at least `threshold` bytes to `sink` instead of to the model, which
  // refers to them at the file `location`.
  void externalize(const std::string& location, uint64_t threshold, const Sink& sink) {
    uint64_t at = 0;
    static const std::byte kZeros[64] = {};
    for (size_t i = 0; i < initializers_.size(); i++) {
      const Tensor& tensor = *initializers_[i].tensor;
      if (!pieces_[i].raw || tensor.bytes() < threshold || tensor.bytes() == 0) continue;
      const uint64_t offset = align_up(at, 64);
      sink({kZeros, static_cast<size_t>(offset - at)});
      sink({static_cast<const std::byte*>(tensor.data()), tensor.bytes()});
      at = offset + tensor.bytes();
      pb::TensorProto header = tensor_header(initializers_[i].name, tensor);
      auto entry = [&](const char* key, const std::string& value) {
        auto* e = header.add_external_data();
        e->set_key(key);
        e->set_value(value);
      };
      entry("location", location);
      entry("offset", std::to_string(offset));
      entry("length", std::to_string(tensor.bytes()));
      header.set_data_location(pb::TensorProto::EXTERNAL);
      headers_[i] = serialize_message(header, "a tensor");
      pieces_[i].raw = false;
    }
  }

  uint64_t bytes() const {
    const uint64_t graph = graph_bytes();
    return model_.size() + field_head(kModelGraphTag, graph).size() + graph;
  }

  void write(const Sink& sink) const {
    if (bytes() > kMostMessageBytes)
      fail(
          ErrorCode::resource_exhausted,
          "the model needs {} bytes and protobuf reads 2 GiB at most; export it with external data",
          bytes());
    put(sink, model_);
    put(sink, field_head(kModelGraphTag, graph_bytes()));
    put(sink, graph_);
    for (size_t i = 0; i < initializers_.size(); i++) {
      put(sink, field_head(kGraphInitializerTag, tensor_bytes(i)));
      put(sink, headers_[i]);
      if (!pieces_[i].raw) continue;
      const Tensor& tensor = *initializers_[i].tensor;
      put(sink, field_head(kTensorRawDataTag, tensor.bytes()));
      sink({static_cast<const std::byte*>(tensor.data()), tensor.bytes()});
    }
  }

 private:
  struct Piece {
    bool raw = false;  // whether bytes follow the header
  };

  uint64_t tensor_bytes(size_t i) const {
    if (!pieces_[i].raw) return headers_[i].size();
    const uint64_t raw = initializers_[i].tensor->bytes();
    return headers_[i].size() + field_head(kTensorRawDataTag, raw).size() + raw;
  }
  uint64_t graph_bytes() const {
    uint64_t total = graph_.size();
    for (size_t i = 0; i < initializers_.size(); i++) {
      const uint64_t tensor = tensor_bytes(i);
      total += field_head(kGraphInitializerTag, tensor).size() + tensor;
    }
    return total;
  }

  static void write_header(const ir::Graph& graph, const GraphWriter& writer,
                           pb::ModelProto& model) {
    std::map<std::string, int64_t> opsets = graph.opsets;
    if (writer.domains().contains("poprt")) opsets.emplace("poprt", 1);
    // The standard domain has the names "ai.onnx" and "". The model gets the second one.
    if (const auto named = opsets.find("ai.onnx"); named != opsets.end()) {
      opsets.emplace("", named->second);
      opsets.erase(named);
    }
    const auto standard = opsets.find("");
    int64_t ir_version = ir_version_for_opset(standard == opsets.end() ? 1 : standard->second);
    ir_version = std::max(ir_version, parse_or(graph.metadata, "ir_version", 0));
    model.set_ir_version(std::min(ir_version, kMaxIrVersion));
    for (const auto& [domain, version] : opsets) {
      auto* import = model.add_opset_import();
      import->set_domain(domain);
      import->set_version(version);
    }
    for (const auto& [key, value] : graph.metadata) {
      if (key == "producer_name") model.set_producer_name(value);
      if (key == "producer_version") model.set_producer_version(value);
      if (key == "domain") model.set_domain(value);
      if (key == "model_version") model.set_model_version(parse_or(graph.metadata, key, 0));
      if (key == "doc_string") model.set_doc_string(value);
      if (key.starts_with("prop.")) {
        auto* entry = model.add_metadata_props();
        entry->set_key(key.substr(5));
        entry->set_value(value);
      }
    }
  }

  std::string model_, graph_;
  std::vector<Initializer> initializers_;
  std::vector<std::string> headers_;
  std::vector<Piece> pieces_;
};

}  // namespace

void export_file(const ir::Graph& graph, const std::filesystem::path& path,
                 const ExportOptions& options) {
  ModelWriter writer(graph, options);
  for (const auto& source : options.sources) require_not_read(path, source);
  AtomicFile file(path);
  std::optional<AtomicFile> data;
  if (options.external_data || writer.bytes() > kMostMessageBytes) {
    std::filesystem::path data_path =
        resolve_links(path);  // in the folder of the file itself, not of a link to it
    data_path += ".data";
    for (const auto& source : options.sources) require_not_read(data_path, source);
    data.emplace(data_path);
    writer.externalize(data_path.filename().string(), options.external_threshold,
                       [&](std::span<const std::byte> bytes) { data->write(bytes); });
  }
  // Small pieces are collected because a system call for each would be slow.
  constexpr size_t kGather = size_t{1} << 16;
  std::vector<std::byte> gathered;
  auto flush = [&] {
    if (!gathered.empty()) file.write(gathered);
    gathered.clear();
  };
  writer.write([&](std::span<const std::byte> bytes) {
    if (gathered.size() + bytes.size() > kGather) flush();
    if (bytes.size() > kGather)
      file.write(bytes);
    else
      gathered.insert(gathered.end(), bytes.begin(), bytes.end());
  });
  flush();
  if (!data || !data->size()) return file.commit();
  // Two files cannot be replaced at once. All other errors are reported before the file of the data
  // is replaced. The old data is not kept for a rollback: a second link to it would make importers
  // refuse it meanwhile, not every file system has links, and a process may end between the two
  // steps.
  file.flush();
  data->commit();
  try {
    file.commit();
  } catch (Error& e) {
    e.add_context(fmt::format("the external data of '{}' is replaced already, export it again",
                              path.string()));
    throw;
  }
}

std::string export_bytes(const ir::Graph& graph, const ExportOptions& options) {
  const ModelWriter writer(graph, options);
  std::string out;
  out.reserve(std::min(writer.bytes(), kMostMessageBytes));
  writer.write([&](std::span<const std::byte> bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  return out;
}

}  // namespace poprt::onnx
