// ONNX models into the graph IR.
//
// Read: IR versions 3 to 14, every opset, raw, typed and external tensors, subgraphs, model-local
// functions (inlined). What changes on the way: initializers and Constant nodes become constants of
// their graph (also when they are listed as inputs); functions disappear; an omitted optional
// output gets a name that starts with kOmittedName; a subgraph's value that hides one of an outer
// graph is renamed; a subgraph's output that belongs to an outer graph goes through an Identity
// node; nodes are put in topological order. Doc strings of nodes and values are dropped. A value
// that is no tensor (sequence, optional, map) has an unknown type. A graph input that is a sequence
// or an optional of tensors becomes a node poprt.ContainerInput: kind ("sequence", "optional",
// "optional_sequence"), dtype and shape (absent without a rank) of the elements, and its position
// among the graph's inputs. A negative dimension is an unknown one; an If without outputs
// disappears; a domain without an opset import is assumed to be of some opset where that is known
// (onnx/assumed_opset.h).
//
// Graph::metadata holds "ir_version", "producer_name", "producer_version", "domain",
// "model_version", "doc_string", "graph.doc_string" and the model's own entries as "prop.KEY", and
// what a value is declared as that is no tensor (ir/types_agree.h).
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
  // External data may be reached through symbolic and hard links, wherever they lead (the layout of
  // some download caches). Only for models that are trusted.
  bool allow_links = false;
  // A domain whose opset is not imported is an error instead of a warning.
  bool strict = false;
};

// Throws not_found for a missing file, invalid_argument for something that is no ONNX model or
// breaks its rules, data_loss for truncated or contradictory contents, unimplemented for what we do
// not read, resource_exhausted past the limits of limits.h. The message starts with the path and
// names graph, node or tensor, and field. Weights are not copied: tensors view what protobuf parsed
// or the mapped external file, which must not shrink while they live. Safe from any thread.
std::unique_ptr<ir::Graph> import_file(const std::filesystem::path& path,
                                       const ImportOptions& options = {});

// `bytes` may go away afterwards. Without a directory external data is refused.
std::unique_ptr<ir::Graph> import_bytes(
    std::span<const std::byte> bytes,
    const std::optional<std::filesystem::path>& directory = std::nullopt,
    const ImportOptions& options = {});

}  // namespace poprt::onnx
