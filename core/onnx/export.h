// Writes the graph IR as ONNX models.
//
// Importing the result returns the same graph: equal nodes, attributes, names, types, opsets and
// tensor bytes, except that a value of a subgraph gets a suffix if another graph of the model has
// its name, the domain "ai.onnx" becomes "", and the declared types of values that are not tensors
// are lost. Constants of the outermost graph are written directly from their tensors, without a
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
  // Whether large constants of the outermost graph are stored in a separate file, which has the
  // path of the model with ".data" appended (after symbolic links are resolved). They always are if
  // the model would have 2 GiB or more, which protobuf cannot read. export_bytes() ignores this
  // option.
  bool external_data = false;
  // Minimum size in bytes of tensors in the external file. Each tensor begins at a multiple of 64.
  uint64_t external_threshold = 1024;
  // Models that the caller has read. export_file() throws invalid_argument instead of replacing one
  // of them or its external data.
  std::vector<std::filesystem::path> sources = {};
};

// The IR version is that of the ONNX release that introduced the imported opset of ai.onnx. It is
// at least 4 (earlier versions require that constants are graph inputs) and at least that of the
// imported model ("ir_version" in metadata), up to kMaxIrVersion. Throws unimplemented for element
// types that ONNX does not have (the quarter formats of the IPU), resource_exhausted if the part
// that is not external data has 2 GiB or more, and the errors of AtomicFile if a file cannot be
// written. After an error the file of the model is unchanged. If the file of the external data has
// been replaced, which happens only if the model's file cannot get its name, the message says so.
void export_file(const ir::Graph& graph, const std::filesystem::path& path,
                 const ExportOptions& options = {});

// Writes one self-contained model. Throws resource_exhausted if it has 2 GiB or more, and
// unimplemented like export_file().
std::string export_bytes(const ir::Graph& graph, const ExportOptions& options = {});

}  // namespace poprt::onnx
