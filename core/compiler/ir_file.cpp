#include "compiler/ir_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "ir/text.h"
#include "ir/text_element.h"

namespace poprt::compiler {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostListed = 64;

Json graph_json(const ir::Graph& graph);

Json tensor_json(const Tensor& tensor) {
  Json json = {{"dtype", dtype_name(tensor.dtype())}, {"shape", tensor.shape()}};
  const int64_t count = element_count(tensor.shape());
  if (count > kMostListed || !ir::has_element_text(tensor.dtype())) return json;
  Json values = Json::array();
  for (int64_t i = 0; i < count; i++)
    values.push_back(
        ir::element_text(tensor.dtype(), ir::load_element(tensor.dtype(), tensor.data(), i)));
  json["values"] = values;
  return json;
}

Json value_json(const ir::Value& value) {
  return {{"name", value.name()},
          {"dtype", dtype_name(value.type.dtype)},
          {"shape", value.type.has_shape ? Json(value.type.shape) : Json(nullptr)}};
}

Json attribute_json(const Tensor& tensor) { return tensor_json(tensor); }
Json attribute_json(const std::shared_ptr<ir::Graph>& graph) { return graph_json(*graph); }
template <class T>
Json attribute_json(const T& plain) {
  return plain;
}
template <class T>
  requires std::same_as<T, Tensor> || std::same_as<T, std::shared_ptr<ir::Graph>>
Json attribute_json(const std::vector<T>& list) {
  Json json = Json::array();
  for (const T& item : list) json.push_back(attribute_json(item));
  return json;
}

Json node_json(const ir::Node& node) {
  Json inputs = Json::array(), outputs = Json::array(), attributes = Json::object();
  for (const ir::Value* v : node.inputs()) inputs.push_back(v ? Json(v->name()) : Json(nullptr));
  for (const ir::Value* v : node.outputs()) outputs.push_back(value_json(*v));
  for (const auto& [key, attribute] : node.attributes)
    attributes[key] = std::visit([](const auto& held) { return attribute_json(held); }, attribute);
  return {{"name", node.name}, {"op_type", node.op_type}, {"domain", node.domain},
          {"inputs", inputs},  {"outputs", outputs},      {"attributes", attributes}};
}

Json graph_json(const ir::Graph& graph) {
  Json inputs = Json::array(), outputs = Json::array(), constants = Json::array(),
       nodes = Json::array();
  for (const ir::Value* v : graph.inputs()) inputs.push_back(value_json(*v));
  for (const ir::Value* v : graph.outputs()) outputs.push_back(v->name());
  for (const ir::Value* v : graph.values()) {
    if (!v->is_constant()) continue;
    Json constant = {{"name", v->name()}};
    constant.update(tensor_json(v->constant()));
    constants.push_back(constant);
  }
  for (const ir::Node* n : graph.nodes()) nodes.push_back(node_json(*n));
  return {{"name", graph.name},
          {"inputs", inputs},
          {"outputs", outputs},
          {"constants", constants},
          {"nodes", nodes}};
}

// Writes each input, constant and node on its own line.
std::string lines_of(const Json& graph) {
  std::string text = "{";
  for (const auto& [key, value] : graph.items()) {
    text += fmt::format("{}{}: ", text.size() > 1 ? ",\n " : "", json_text(Json(key)));
    if (!value.is_array() || value.empty()) {
      text += json_text(value);
      continue;
    }
    for (size_t i = 0; i < value.size(); i++) text += (i ? ",\n  " : "[\n  ") + json_text(value[i]);
    text += "]";
  }
  return text + "}";
}

// The operators of a graph, each on its own line.
std::string operators_of(const ir::Graph& graph) {
  const auto names = [](const auto& values) {
    Json list = Json::array();
    for (const ir::Value* v : values) list.push_back(v ? Json(v->name()) : Json(nullptr));
    return list;
  };
  std::string text = "[";
  for (const ir::Node* n : graph.nodes()) {
    const Json json = {{"type", n->op_type},
                       {"name", n->name},
                       {"inputs", names(n->inputs())},
                       {"outputs", names(n->outputs())}};
    text += (text.size() > 1 ? ",\n  " : "\n  ") + json_text(json);
  }
  return text + "]";
}

}  // namespace

IrFile::IrFile(const std::filesystem::path& path)
    : json_(path.extension() == ".json"), file_(path) {}

void IrFile::add(const ir::Graph& graph) {
  if (json_) {
    graphs_.push_back(lines_of(graph_json(graph)));
    const bool is_key = graph.name == "format" || graph.name == "graphs";
    if (is_key || std::ranges::find(names_, graph.name) != names_.end()) return;
    names_.push_back(graph.name);
    operators_.push_back(operators_of(graph));
    return;
  }
  ir::TextOptions options;
  options.large = ir::TextOptions::Large::elide;
  graphs_.push_back(ir::to_text(graph, options));
}

void IrFile::write() {
  std::string text = json_ ? "{\"format\": \"poprt ir 1\",\n\"graphs\": [\n" : "";
  for (size_t i = 0; i < graphs_.size(); i++) text += (json_ && i ? ",\n" : "") + graphs_[i];
  if (json_) text += "\n]";
  for (size_t i = 0; i < names_.size(); i++)
    text += ",\n" + json_text(Json(names_[i])) + ": " + operators_[i];
  if (json_) text += "}\n";
  file_.write(std::as_bytes(std::span(text)));
  file_.commit();
}

}  // namespace poprt::compiler
