// A transform that writes the graph as JSON to ir_CHECKPOINT.json in the folder of IR_SERIALISE_DIR
// (by default the working folder), as in PopRT's manual.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "poprt/plugin.h"

namespace {

std::string quoted(const char* text) {
  std::string json = "\"";
  for (; *text; text++) {
    const auto c = static_cast<unsigned char>(*text);
    char escaped[8];
    if (c == '"' || c == '\\') {
      json += '\\';
      json += *text;
    } else if (c < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      json += escaped;
    } else {
      json += *text;
    }
  }
  return json + '"';
}

std::string joined(const std::vector<std::string>& items, char open, char close) {
  std::string json(1, open);
  for (const std::string& item : items) json += (json.size() > 1 ? ", " : "") + item;
  return json + close;
}

class Writer {
 public:
  Writer(const poprt_graph_host& host, poprt_graph* graph) : host_(host), graph_(graph) {}

  std::string json() const {
    std::vector<poprt_node*> nodes(host_.graph_nodes(graph_, nullptr, 0));
    host_.graph_nodes(graph_, nodes.data(), nodes.size());
    std::vector<std::string> list;
    for (poprt_node* node : nodes) list.push_back("\n    " + node_json(node));
    return "{\n  \"name\": " + quoted(host_.graph_name(graph_)) +
           ",\n  \"inputs\": " + values(host_.graph_inputs) +
           ",\n  \"outputs\": " + values(host_.graph_outputs) +
           ",\n  \"nodes\": " + joined(list, '[', ']') + "\n}\n";
  }

 private:
  using List = size_t (*)(poprt_graph*, poprt_value**, size_t);

  std::string values(List list) const {
    std::vector<poprt_value*> all(list(graph_, nullptr, 0));
    list(graph_, all.data(), all.size());
    std::vector<std::string> items;
    for (poprt_value* value : all) items.push_back(value_json(value));
    return joined(items, '[', ']');
  }

  std::string value_json(poprt_value* value) const {
    if (!value) return "null";
    poprt_op_tensor type{};
    type.struct_size = sizeof type;
    host_.value_type(value, &type);
    std::vector<std::string> shape;
    for (int32_t i = 0; i < type.rank; i++) shape.push_back(std::to_string(type.shape[i]));
    return "{\"name\": " + quoted(host_.value_name(value)) +
           ", \"dtype\": " + std::to_string(type.dtype) +
           ", \"shape\": " + (type.rank < 0 ? "null" : joined(shape, '[', ']')) +
           ", \"constant\": " + (host_.value_is_constant(value) ? "true" : "false") + "}";
  }

  std::string attribute_json(poprt_node* node, const char* name) const {
    int64_t number = 0;
    float real = 0;
    const char* text = nullptr;
    const int64_t* numbers = nullptr;
    size_t count = 0;
    switch (host_.attribute_kind(node, name)) {
      case POPRT_ATTRIBUTE_INT: host_.get_int(node, name, &number); return std::to_string(number);
      case POPRT_ATTRIBUTE_FLOAT: host_.get_float(node, name, &real); return std::to_string(real);
      case POPRT_ATTRIBUTE_STRING:
        host_.get_string(node, name, &text, nullptr);
        return quoted(text);
      case POPRT_ATTRIBUTE_INTS: {
        host_.get_ints(node, name, &numbers, &count);
        std::vector<std::string> items;
        for (size_t i = 0; i < count; i++) items.push_back(std::to_string(numbers[i]));
        return joined(items, '[', ']');
      }
      default: return "null";  // tensors and graphs are omitted
    }
  }

  std::string node_json(poprt_node* node) const {
    std::vector<std::string> inputs, outputs, attributes;
    for (size_t i = 0; i < host_.node_input_count(node); i++)
      inputs.push_back(value_json(host_.node_input(node, i)));
    for (size_t i = 0; i < host_.node_output_count(node); i++)
      outputs.push_back(value_json(host_.node_output(node, i)));
    for (size_t i = 0; i < host_.attribute_count(node); i++) {
      const char* name = host_.attribute_name(node, i);
      attributes.push_back(quoted(name) + ": " + attribute_json(node, name));
    }
    return "{\"type\": " + quoted(host_.node_type(node)) +
           ", \"domain\": " + quoted(host_.node_domain(node)) +
           ", \"name\": " + quoted(host_.node_name(node)) +
           ", \"inputs\": " + joined(inputs, '[', ']') +
           ", \"outputs\": " + joined(outputs, '[', ']') +
           ", \"attributes\": " + joined(attributes, '{', '}') + "}";
  }

  const poprt_graph_host& host_;
  poprt_graph* graph_;
};

int32_t apply(const poprt_graph_host* host, poprt_graph* graph, const char* checkpoint, void*) {
  const char* folder = std::getenv("IR_SERIALISE_DIR");
  const std::string path =
      std::string(folder && *folder ? folder : ".") + "/ir_" + checkpoint + ".json";
  const std::string json = Writer(*host, graph).json();
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file)
    return host->fail(graph, POPRT_PERMISSION_DENIED, "cannot write '%s': %s", path.c_str(),
                      std::strerror(errno));
  const bool whole = std::fwrite(json.data(), 1, json.size(), file) == json.size();
  if (std::fclose(file) != 0 || !whole)
    return host->fail(graph, POPRT_RESOURCE_EXHAUSTED, "cannot write all of '%s'", path.c_str());
  return POPRT_OK;
}

int32_t init(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  poprt_transform transform{};
  transform.struct_size = sizeof transform;
  transform.name = "IrSerialise";
  transform.summary = "writes the graph as JSON";
  transform.apply = apply;
  return host->add_transform(registry, &transform);
}

}  // namespace

POPRT_PLUGIN("ir_serialise", "1.0", init)
