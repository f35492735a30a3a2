// What an ONNX model says about itself, on its way into the PopEF file.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace poprt::compiler {

// Metadata of ours that ONNX keeps as a property of the model, so that converted models have it
// too.
inline constexpr std::string_view kOwnProperty = "prop.poprt.";

// Opaque blob "onnx_metadata": a JSON object of strings with what the model has of "producer_name",
// "producer_version", "domain", "model_version", "doc_string", "graph.doc_string", and its
// metadata_props as "prop.KEY", without ours; with one of those also "graph_name". Text that is no
// UTF-8 has U+FFFD there. Empty when the model says nothing.
std::map<std::string, std::string> onnx_metadata_of(const ir::Graph& graph);

}  // namespace poprt::compiler
