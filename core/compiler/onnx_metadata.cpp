#include "compiler/onnx_metadata.h"

#include "base/json.h"

namespace poprt::compiler {

std::map<std::string, std::string> onnx_metadata_of(const ir::Graph& graph) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::object();
  for (const char* key : {"producer_name", "producer_version", "domain", "model_version",
                          "doc_string", "graph.doc_string"})
    if (const auto it = graph.metadata.find(key); it != graph.metadata.end())
      entries[key] = it->second;
  for (const auto& [key, value] : graph.metadata)
    if (key.starts_with("prop.") && !key.starts_with(kOwnProperty)) entries[key] = value;
  if (entries.empty()) return {};
  entries["graph_name"] = graph.name;
  return {{"onnx_metadata", json_text(entries)}};
}

}  // namespace poprt::compiler
