#include "passes/common/rewrite.h"

namespace poprt::passes::extract_constant_to_initializer_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Returns nothing if the value is not a dense tensor (a sparse value).
std::optional<Tensor> tensor_in(const Node& n) {
  for (const auto& [key, attribute] : n.attributes) {
    if (!key.starts_with("value")) continue;  // for example an attribute with the node's position
    if (const auto* t = std::get_if<Tensor>(&attribute)) return *t;
    if (const auto* i = std::get_if<int64_t>(&attribute)) return Tensor::scalar<int64_t>(*i);
    if (const auto* f = std::get_if<float>(&attribute)) return Tensor::scalar<float>(*f);
    if (const auto* is = std::get_if<std::vector<int64_t>>(&attribute))
      return Tensor::of<int64_t>({static_cast<int64_t>(is->size())}, *is);
    if (const auto* fs = std::get_if<std::vector<float>>(&attribute))
      return Tensor::of<float>({static_cast<int64_t>(fs->size())}, *fs);
    if (const auto* s = std::get_if<std::string>(&attribute)) return Tensor::strings({}, {*s});
    if (const auto* ss = std::get_if<std::vector<std::string>>(&attribute))
      return Tensor::strings({static_cast<int64_t>(ss->size())}, *ss);
  }
  return std::nullopt;
}

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    for (Node* n : g.nodes()) {
      if (!n->is("Constant")) continue;
      const auto tensor = tensor_in(*n);
      Value* old = n->output();
      // A graph output keeps its node, because an initializer cannot take its name.
      if (!tensor || g.is_output(old) || !context.allow()) continue;
      const std::string name = old->name();
      Value* constant = g.add_constant(name + "_value", *tensor);
      g.replace_all_uses(old, constant);
      g.erase_node(n);
      g.rename(constant, name);
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "extract_constant_to_initializer",
                     .summary = "turns Constant nodes into initializers",
                     .condition = "the value is a dense tensor",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::extract_constant_to_initializer_pass
