#include "passes/common/describe.h"

#include <algorithm>
#include <cstdio>

#include "ir/types_agree.h"
#include "ops/facts.h"

namespace poprt::passes {
namespace {

// Describes a container, whose kind has underscores: "sequence of f32[?,3]".
std::string describe_container(std::string kind, std::string_view element) {
  std::ranges::replace(kind, '_', ' ');
  return fmt::format("{} of {}", kind, element);
}

}  // namespace

std::string describe_type(const ir::Value& v) {
  std::string shape;
  for (const int64_t d : v.shape())
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", std::max<int64_t>(d, 0));
  return fmt::format("dtype - {}, shape - {}", dtype_name(v.dtype()),
                     v.type.has_shape ? "[" + shape + "]" : "unknown");
}

std::string describe_named_type(const ir::Value& v) {
  if (const ir::Node* n = v.producer(); n && n->is("ContainerInput", "poprt")) {
    ir::ValueType element;
    element.dtype = static_cast<DType>(n->int_attr("element", 0));
    element.has_shape = n->attributes.contains("shape");
    if (element.has_shape) element = ir::ValueType::of(element.dtype, n->ints_attr("shape"));
    return describe_container(n->string_attr("kind", "sequence"), ir::type_string(element));
  }
  const auto& metadata = v.graph().metadata;
  if (const auto found = metadata.find(ir::kDeclaredContainer + v.name());
      found != metadata.end()) {  // "optional_sequence f32[?,3]"
    const size_t blank = found->second.find(' ');
    return describe_container(found->second.substr(0, blank),
                              std::string_view(found->second).substr(blank + 1));
  }
  if (v.type.is_static() || !v.type.has_shape) return describe_type(v);
  std::string shape;
  for (size_t i = 0; i < v.shape().size(); i++) {
    const bool named = i < v.type.symbols.size() && !v.type.symbols[i].empty();
    shape += fmt::format("{}{}", i ? ", " : "",
                         v.shape()[i] >= 0 ? std::to_string(v.shape()[i])
                         : named           ? v.type.symbols[i]
                                           : "?");
  }
  return fmt::format("dtype - {}, shape - [{}]", dtype_name(v.dtype()), shape);
}

std::vector<const ir::Value*> model_inputs(const ir::Graph& graph) {
  std::vector<const ir::Value*> inputs(graph.inputs().begin(), graph.inputs().end());
  for (const ir::Node* n : graph.nodes())
    if (n->is("ContainerInput", "poprt")) {
      const auto at = static_cast<size_t>(std::max<int64_t>(n->int_attr("position", 0), 0));
      inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(std::min(at, inputs.size())),
                    n->output());
    }
  return inputs;
}

std::string io_statistics(const ir::Graph& graph) {
  std::string text;
  const auto add = [&](const char* direction, const auto& values) {
    std::vector<std::pair<std::string, size_t>> counts;
    for (const ir::Value* v : values) {
      const std::string type = describe_named_type(*v);
      const auto found = std::ranges::find(counts, type, &std::pair<std::string, size_t>::first);
      if (found == counts.end())
        counts.emplace_back(type, 1);
      else
        found->second++;
    }
    text += fmt::format("{}s: {}\n", direction, values.size());
    for (const auto& [type, count] : counts) text += fmt::format("  {} x {}\n", count, type);
  };
  add("input", model_inputs(graph));
  add("output", graph.outputs());
  return text;
}

std::string layer_results(const ir::Graph& before, const ir::Graph& after) {
  const auto is_computed = [&](const ir::Value* v) {
    const ir::Value* same = before.find(v->name());
    return same && same->producer();
  };
  std::string text;
  for (const ir::Node* n : after.nodes()) {
    if (ops::facts_of(*n).layer == ops::LayerForm::none) continue;
    // A conversion may have moved the name of the result to a later node: to a Cast if the result
    // is an output of the model, or to the Mul and Add that follow a Gemm on 8-bit floats.
    const ir::Value* v = n->output();
    for (int step = 0; step < 3 && !is_computed(v) && !v->uses().empty(); step++) {
      const ir::Node& next = *v->uses()[0].node;
      if (next.is("Cast") || next.is("Mul") || next.is("Add")) v = next.output();
    }
    if (is_computed(v)) text += fmt::format("{} {}\n", n->op_type, v->name());
  }
  return text;
}

void print_text(const PassContext& context, const std::string& text) {
  if (context.print)
    context.print(text);
  else
    fmt::print("{}", text);
}

}  // namespace poprt::passes
