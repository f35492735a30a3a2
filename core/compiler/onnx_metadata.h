// Transfers the metadata of an ONNX model to the PopEF file.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace poprt::compiler {

// Prefix of poprt's metadata. It is stored as properties of the ONNX model, so that converted
// models have it, too.
inline constexpr std::string_view kOwnProperty = "prop.poprt.";

// Returns opaque blob "onnx_metadata": a JSON object of strings with the model's "producer_name",
// "producer_version", "domain", "model_version", "doc_string" and "graph.doc_string", and its
// metadata_props as "prop.KEY", without poprt's own. If it has any of them, also "graph_name". Text
// that is not UTF-8 is replaced by U+FFFD. Returns an empty map if the model has no metadata.
std::map<std::string, std::string> onnx_metadata_of(const ir::Graph& graph);

}  // namespace poprt::compiler
