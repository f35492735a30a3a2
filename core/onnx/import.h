// Imports ONNX models as graphs of the IR.
//
// It reads IR versions 3 to 14, every opset up to kMaxOpset (limits.h), raw, typed and external
// tensors, subgraphs, and model-local functions (which are inlined). The graph differs from the
// model as follows:
// * Initializers and Constant nodes become constants of their graph, even if they are listed as
//   inputs. Functions disappear.
// * An omitted optional output gets a name that begins with kOmittedName.
// * A value of a subgraph with the name of an earlier value of an outer graph is renamed.
// * An output of a subgraph that belongs to an outer graph gets an Identity node.
// * Nodes are in topological order. Doc strings of nodes and values are dropped.
// * A value that is not a tensor (sequence, optional, map) has an unknown type.
// * An input of the outermost graph that is a sequence or an optional of tensors becomes a node
//   poprt.ContainerInput with these attributes: kind ("sequence", "optional", "optional_sequence"),
//   element (the DType of the elements), shape (of the elements; absent if the rank is unknown),
//   and position (among the graph's inputs that are not initializers).
// * A negative dimension becomes unknown. An If without outputs disappears.
// * For a domain without an opset import, an opset is assumed (onnx/assumed_opset.h), unless
//   ImportOptions::strict is set.
//
// Graph::metadata has "ir_version", "producer_name", "producer_version", "domain", "model_version",
// "doc_string", "graph.doc_string", the entries of the model as "prop.KEY", and the declared types
// of values that are not tensors (ir/types_agree.h).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "ir/graph.h"

namespace poprt::onnx {

inline constexpr std::string_view kOmittedName = "_omitted";

struct ImportOptions {
  // Whether external data may be reached through symbolic and hard links with any target, as in
  // some download caches. Use this only for trusted models.
  bool allow_links = false;
  // Whether the model and the parts of external files that it uses are copied into memory. Then the
  // graph does not depend on the files, and a file that is truncated meanwhile is an error.
  bool copy = false;
  // Whether these are errors instead of warnings: a domain whose opset is not imported, and an
  // operator in a function whose definition differs between the opset of the function and that of
  // the model.
  bool strict = false;
  // Whether tensors in a file that is missing are zeros, for uses that read only their shapes.
  bool missing_data_is_zero = false;
};

// Throws not_found for a missing file, permission_denied if a file may not be read,
// invalid_argument if the file is not an ONNX model or is invalid, data_loss for truncated or
// inconsistent contents, out_of_range for shapes whose size overflows, unimplemented for features
// that are not supported, and resource_exhausted beyond the limits of limits.h and if too many
// files are open for the model to be opened. The message begins with the path and contains the
// graph, the node or tensor, and the field. Weights are not copied: tensors refer to memory that
// the importer or protobuf has filled or, without `copy`, to the mapped external file, which must
// not be truncated while they live: reading a missing page raises SIGBUS. Thread-safe.
std::unique_ptr<ir::Graph> import_file(const std::filesystem::path& path,
                                       const ImportOptions& options = {});

// `bytes` may be freed afterwards. Without a directory, external data is refused.
std::unique_ptr<ir::Graph> import_bytes(
    std::span<const std::byte> bytes,
    const std::optional<std::filesystem::path>& directory = std::nullopt,
    const ImportOptions& options = {});

}  // namespace poprt::onnx
