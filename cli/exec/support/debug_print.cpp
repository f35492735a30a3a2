// Prints graphs for poprt_exec debug print.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>

#include "common/abi.h"
#include "exec/support/debug_model.h"
#include "ir/text.h"

namespace poprt::cli {
namespace {

constexpr size_t kElements = 1000;  // most elements of a printed tensor
// Most bytes of a name that are matched with a regular expression: std::regex needs some hundred
// bytes of the stack for each.
constexpr size_t kMatchedBytes = 4096;

std::string type_of(const ir::Value* value) {
  return fmt::format("{}{}", ir::type_string(value->type),
                     value->is_constant() ? ", constant" : "");
}

std::string elements(const Tensor& tensor) {
  if (tensor.dtype() == DType::string) return fmt::format("{}", tensor.string_values());
  const std::vector<double> values = tensor.to_doubles();
  std::string text = "[";
  for (size_t i = 0; i < values.size() && i < kElements; i++)
    text += fmt::format("{}{:g}", i ? ", " : "", values[i]);
  if (values.size() > kElements) text += fmt::format(", ... {} in all", values.size());
  return text + "]";
}

std::string text_of(const ir::Attribute& attribute) {
  struct Visitor {
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(float v) const { return fmt::format("{:g}", v); }
    std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v); }
    std::string operator()(const Tensor& v) const {
      return fmt::format("{}{} {}", dtype_name(v.dtype()), shape_string(v.shape()), elements(v));
    }
    std::string operator()(const std::vector<int64_t>& v) const { return fmt::format("{}", v); }
    std::string operator()(const std::vector<float>& v) const { return fmt::format("{}", v); }
    std::string operator()(const std::vector<std::string>& v) const { return fmt::format("{}", v); }
    std::string operator()(const std::vector<Tensor>& v) const {
      return fmt::format("{} tensors", v.size());
    }
    std::string operator()(const std::shared_ptr<ir::Graph>& v) const {
      return fmt::format("a graph of {} nodes", v->node_count());
    }
    std::string operator()(const std::vector<std::shared_ptr<ir::Graph>>& v) const {
      return fmt::format("{} graphs", v.size());
    }
  };
  return std::visit(Visitor{}, attribute);
}

std::string names_of(std::span<ir::Value* const> values) {
  std::string text;
  for (const ir::Value* v : values)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", v ? v->name() : "(none)");
  return text;
}

std::string node_text(const ir::Node& node, int level, int indent) {
  const std::string in(static_cast<size_t>(indent), ' ');
  std::string text = fmt::format("{}Node: {}{}\n", in, node.name,
                                 node.name.empty() ? fmt::format("({})", node.op_type) : "");
  if (level < 2) return text;
  text += fmt::format("{}  Op type: {}{}{}\n", in, node.domain, node.domain.empty() ? "" : ".",
                      node.op_type);
  for (const auto& [title, values] :
       {std::pair("Inputs", node.inputs()), std::pair("Outputs", node.outputs())}) {
    text += fmt::format("{}  {}: {}\n", in, title, names_of(values));
    for (const ir::Value* v : values)
      if (level > 2 && v) text += fmt::format("{}    {}: {}\n", in, v->name(), type_of(v));
  }
  if (!node.attributes.empty()) text += fmt::format("{}  Attributes:\n", in);
  for (const auto& [key, value] : node.attributes)
    text += fmt::format("{}    {}: {}\n", in, key, text_of(value));
  for_each_subgraph(node, [&](const ir::Graph& inner) {
    text += fmt::format("{}  Graph: {}\n", in, inner.name);
    for (const ir::Node* n : inner.nodes()) text += node_text(*n, level, indent + 4);
  });
  return text;
}

std::string value_text(const ir::Value* value) {
  std::string text = fmt::format("Tensor: {}\n  {}\n", value->name(), type_of(value));
  if (value->is_constant()) text += fmt::format("  Value: {}\n", elements(value->constant()));
  return text;
}

}  // namespace

std::string describe(const ir::Graph& graph, int level) {
  std::string text;
  if (level == 0) {
    text = "Model metadata:\n";
    for (const auto& [key, value] : graph.metadata) text += fmt::format("  {}: {}\n", key, value);
    for (const auto& [domain, version] : graph.opsets)
      text += fmt::format("  opset {}: {}\n", domain.empty() ? "ai.onnx" : domain, version);
    text += "Model inputs:\n";
    for (const ir::Value* v : graph.inputs())
      text += fmt::format("  {}: {}\n", v->name(), type_of(v));
    text += "Model outputs:\n";
    for (const ir::Value* v : graph.outputs())
      text += fmt::format("  {}: {}\n", v->name(), type_of(v));
    return text;
  }
  text = fmt::format("Model graph: {}\n", graph.name);
  for (const ir::Node* node : graph.nodes()) text += node_text(*node, level, 2);
  return text;
}

std::string describe_named(const ir::Graph& graph, const std::string& expression) {
  std::string text;
  try {
    const std::regex wanted(expression);
    const auto matches = [&](const std::string& name) {
      const auto length = static_cast<ptrdiff_t>(std::min(name.size(), kMatchedBytes));
      return std::regex_search(name.begin(), name.begin() + length, wanted);
    };
    for (const ir::Node* node : graph.nodes())
      if (matches(node->name)) text += node_text(*node, 3, 0);
    if (text.empty())
      for (const ir::Value* value : graph.values())
        if (matches(value->name())) text += value_text(value);
  } catch (const std::regex_error& error) {
    throw Usage(
        fmt::format("--name: '{}' is not a regular expression: {}", expression, error.what()));
  }
  if (text.empty())
    throw Usage(
        fmt::format("--name: no node and no tensor has a name that matches '{}'", expression));
  return text;
}

}  // namespace poprt::cli
