// The graph IR into ONNX models.
//
// What import makes of the result is the graph again: same nodes, attributes, names, types, opsets
// and tensor bytes. Weights are written once, straight from their tensors. Same graph and options
// give the same bytes. A value without a known element type is written without a type, which ONNX
// does not accept for graph inputs and outputs: infer types first. Of the nodes of one name in a
// graph all but the first get a suffix, as ONNX Runtime refuses them otherwise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ir/graph.h"

namespace poprt::onnx {

struct ExportOptions {
  // Write the known types of intermediate values.
  bool value_info = true;
  // Keep large tensors in a file beside the model, "NAME.onnx.data"; done in any case when the
  // model would pass 2 GiB, the most that protobuf reads.
  bool external_data = false;
  // Tensors of at least this many bytes go into the external file; each starts at a multiple of 64.
  uint64_t external_threshold = 1024;
};

// The IR version is the one that introduced the newest imported opset, at least 4 (before it,
// constants must be graph inputs) and at least the imported model's own ("ir_version" in metadata).
// Throws unimplemented for element types that ONNX lacks (the IPU's quarter formats), not_found /
// permission_denied / resource_exhausted when a file cannot be written; then no file is left
// behind.
void export_file(const ir::Graph& graph, const std::filesystem::path& path,
                 const ExportOptions& options = {});

// One self-contained model. Throws resource_exhausted past 2 GiB.
std::string export_bytes(const ir::Graph& graph, const ExportOptions& options = {});

}  // namespace poprt::onnx
