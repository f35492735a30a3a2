#include "onnx/import.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "onnx/elem_type.h"
#include "onnx/graph_builder.h"
#include "onnx/limits.h"
#include "onnx/split_model.h"
#include "onnx/wire.h"

namespace poprt::onnx {
namespace {

namespace pb = ::onnx;

std::unique_ptr<ir::Graph> import_parsed(pb::ModelProto& model, ExternalFiles& files,
                                         const ImportOptions& options) {
  if (!model.has_ir_version() && !model.has_graph())
    fail(ErrorCode::invalid_argument, "not an ONNX model: it has neither ir_version nor graph");
  if (!model.has_ir_version()) fail(ErrorCode::invalid_argument, "the model has no ir_version");
  if (model.ir_version() < kMinIrVersion || model.ir_version() > kMaxIrVersion)
    fail(
        model.ir_version() > kMaxIrVersion ? ErrorCode::unimplemented : ErrorCode::invalid_argument,
        "IR version {} is not supported, expected {} to {}", model.ir_version(), kMinIrVersion,
        kMaxIrVersion);
  if (!model.has_graph()) fail(ErrorCode::invalid_argument, "the model has no graph");
  if (model.opset_import_size() == 0)
    fail(ErrorCode::invalid_argument, "the model has no opset_import");
  if (model.graph().output_size() == 0)
    fail(ErrorCode::invalid_argument, "the graph has no output");

  auto graph = std::make_unique<ir::Graph>(graph_title(model.graph()));
  graph->opsets = read_opsets(model.opset_import());
  auto note = [&](std::string key, const std::string& value) {
    if (!value.empty()) graph->metadata[std::move(key)] = value;
  };
  note("ir_version", std::to_string(model.ir_version()));
  note("producer_name", model.producer_name());
  note("producer_version", model.producer_version());
  note("domain", model.domain());
  if (model.has_model_version()) note("model_version", std::to_string(model.model_version()));
  note("doc_string", model.doc_string());
  note("graph.doc_string", model.graph().doc_string());
  for (const auto& entry : model.metadata_props())
    graph->metadata["prop." + entry.key()] = entry.value();

  GraphBuilder(model, files, options.strict).build(*graph);
  return graph;
}

// Parses a model. `read` copies parts of `bytes`; the data of large tensors goes to `files`.
void parse_model(std::span<const std::byte> bytes, const ReadModel& read, pb::ModelProto& model,
                 ExternalFiles& files) {
  const std::optional<SplitModel> split = split_model(bytes);
  if (!split) {
    parse_message(bytes, kModelTags, "ONNX model", model);
    return;
  }
  parse_message(std::as_bytes(std::span(split->rest)), kModelTags, "ONNX model", model);
  const std::vector<CutData> data = read_cuts(split->cuts, read);
  for (size_t i = 0; i < data.size(); i++)
    files.add_cut(SplitModel::tensor_of(split->cuts[i], model), {data[i].bytes, data[i].owner});
}

// A user may give a PopEF file instead of the model from which it is compiled.
void refuse_popef(std::span<const std::byte> bytes) {
  constexpr std::string_view kTag = "PopEF ";
  if (bytes.size() >= kTag.size() && std::memcmp(bytes.data(), kTag.data(), kTag.size()) == 0)
    fail(ErrorCode::invalid_argument,
         "a PopEF file, not an ONNX model: it is compiled already, give it to a runner");
}

}  // namespace

std::unique_ptr<ir::Graph> import_file(const std::filesystem::path& path,
                                       const ImportOptions& options) {
  // The errors of open() contain the path already.
  std::shared_ptr<const MappedFile> file = MappedFile::open(path, !options.copy);
  try {
    ExternalFiles files(path.parent_path(), options.allow_links, options.copy,
                        options.missing_data_is_zero);
    pb::ModelProto model;
    std::vector<std::byte> copied(options.copy ? file->bytes().size() : 0);
    if (options.copy) copy_mapped(file->bytes(), copied);
    const std::span<const std::byte> bytes = options.copy ? std::span(copied) : file->bytes();
    refuse_popef(bytes);
    const ReadModel read = [&](uint64_t offset, std::span<std::byte> to) {
      if (options.copy)
        std::ranges::copy(bytes.subspan(offset, to.size()), to.begin());
      else
        file->read(offset, to);
    };
    parse_model(bytes, read, model, files);
    copied = {};
    file.reset();
    return import_parsed(model, files, options);
  } catch (Error& e) {
    e.add_context(path.string());
    throw;
  }
}

std::unique_ptr<ir::Graph> import_bytes(std::span<const std::byte> bytes,
                                        const std::optional<std::filesystem::path>& directory,
                                        const ImportOptions& options) {
  ExternalFiles files(directory, options.allow_links, options.copy, options.missing_data_is_zero);
  pb::ModelProto model;
  refuse_popef(bytes);
  const auto read = [&](uint64_t offset, std::span<std::byte> to) {
    std::ranges::copy(bytes.subspan(offset, to.size()), to.begin());
  };
  parse_model(bytes, read, model, files);
  return import_parsed(model, files, options);
}

}  // namespace poprt::onnx
