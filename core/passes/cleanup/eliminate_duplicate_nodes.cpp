#include <string>
#include <unordered_map>

#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::eliminate_duplicate_nodes_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void put(std::string& key, const void* data, size_t bytes) {
  key.append(static_cast<const char*>(data), bytes);
}

template <class T>
void put_list(std::string& key, const std::vector<T>& values) {
  const size_t count = values.size();
  put(key, &count, sizeof count);
  if (count) put(key, values.data(), count * sizeof(T));
}

// Nodes with equal keys compute the same. The key is empty if the node is not a pure function of
// its inputs, or if it has subgraphs, tensors or lists of texts as attributes, which are not
// compared.
std::string key_of(const Node& n) {
  const ops::OpDef* op = ops::find_op(n.domain, n.op_type, n.opset());
  if (!op || !op->pure) return {};
  std::string key = n.domain + ':' + n.op_type + '(';
  for (const Value* v : n.inputs()) put(key, &v, sizeof(const Value*));
  key += ')';
  for (const auto& [name, attribute] : n.attributes) {
    key += name + '=' + static_cast<char>('a' + static_cast<int>(attribute.index()));
    if (const auto* i = std::get_if<int64_t>(&attribute)) {
      put(key, i, sizeof *i);
    } else if (const auto* f = std::get_if<float>(&attribute)) {
      put(key, f, sizeof *f);
    } else if (const auto* s = std::get_if<std::string>(&attribute)) {
      put_list(key, std::vector<char>(s->begin(), s->end()));
    } else if (const auto* is = std::get_if<std::vector<int64_t>>(&attribute)) {
      put_list(key, *is);
    } else if (const auto* fs = std::get_if<std::vector<float>>(&attribute)) {
      put_list(key, *fs);
    } else {
      return {};
    }
  }
  const size_t outputs = n.outputs().size();
  put(key, &outputs, sizeof outputs);
  return key;
}

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    std::unordered_map<std::string, Node*> first;
    for (Node* n : g.nodes()) {
      std::string key = key_of(*n);
      if (key.empty()) continue;
      const auto [it, is_new] = first.emplace(std::move(key), n);
      if (is_new) continue;
      Node* kept = it->second;
      bool possible = true, useful = false;
      for (size_t i = 0; i < n->outputs().size(); i++) {
        Value *v = n->output(i), *by = kept->output(i);
        possible &= v->dtype() == by->dtype();
        useful |= can_bypass(v, by);
      }
      if (!possible || !useful || !context.allow()) continue;
      for (size_t i = 0; i < kept->outputs().size(); i++) redirect(n->output(i), kept->output(i));
      erase_if_dead(n);
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_duplicate_nodes",
                     .summary = "computes equal expressions once",
                     .condition =
                         "nodes of one operator with equal attributes and inputs, whose results "
                         "depend on nothing else",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_duplicate_nodes_pass
