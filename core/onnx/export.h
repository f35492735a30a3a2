// Writes the graph IR as ONNX models.
//
// Importing the result returns the same graph: equal nodes, attributes, names, types, opsets and
// tensor bytes, except that a value of a subgraph gets a suffix if another graph of the model has
// its name. Constants of the outermost graph are written directly from their tensors, without a
// copy; those of subgraphs and attributes are copied into the message. Equal graphs and options
// give equal bytes. A value without a known element type is written without a type; ONNX does not
// accept that for graph inputs and outputs, so types should be inferred first. If several nodes of
// a graph have one name, all but the first get a suffix, because ONNX Runtime refuses duplicates.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace poprt::onnx {

struct ExportOptions {
  // Whether the known types of intermediate values are written.
  bool value_info = true;
  // Whether large tensors are stored in a separate file in the folder of the model,
  // "NAME.onnx.data". They always are if the model would be larger than 2 GiB, the limit of
  // protobuf.
  bool external_data = false;
  // Minimum size in bytes of tensors in the external file. Each tensor begins at a multiple of 64.
  uint64_t external_threshold = 1024;
  // Models that the caller has read. Neither they nor their external data are replaced: the call
  // throws invalid_argument.
  std::vector<std::filesystem::path> sources = {};
};

// The IR version is the one that introduced the imported opset of ai.onnx. It is at least 4
// (earlier versions require that constants are graph inputs) and at least that of the imported
// model ("ir_version" in metadata). Throws unimplemented for element types that ONNX does not have
// (the quarter formats of the IPU), resource_exhausted if the part that cannot be external data is
// larger than 2 GiB, and the errors of AtomicFile if a file cannot be written. After an error the
// file of the model is unchanged. If the file of the external data has been replaced, which happens
// only if the model's file cannot get its name, the message says so.
void export_file(const ir::Graph& graph, const std::filesystem::path& path,
                 const ExportOptions& options = {});

// Writes one self-contained model. Throws resource_exhausted if it is larger than 2 GiB, and
// unimplemented like export_file().
std::string export_bytes(const ir::Graph& graph, const ExportOptions& options = {});

}  // namespace poprt::onnx
