#include <algorithm>
#include <unordered_set>
#include <vector>

#include "compiler/flow/specialize.h"
#include "ops/facts.h"

namespace poprt::compiler {
namespace {

// Adds a value, and all values that its elements depend on, to `seen`.
void collect_sources(const ir::Value* of, std::unordered_set<const ir::Value*>& seen) {
  std::vector<const ir::Value*> open = {of};
  while (!open.empty()) {
    const ir::Value* v = open.back();
    open.pop_back();
    if (!v || !seen.insert(v).second || !v->producer()) continue;
    if (ops::facts_of(*v->producer()).from_shapes) continue;
    open.insert(open.end(), v->producer()->inputs().begin(), v->producer()->inputs().end());
  }
}

void collect(const ir::Graph& graph, int level, std::unordered_set<const ir::Value*>& wanted) {
  for (const ir::Node* n : graph.nodes()) {
    const uint32_t mask = level == 1 ? ops::constant_inputs(*n) : ~uint32_t{1};
    for (size_t i = 0; i < n->inputs().size(); i++)
      if (i >= 32 ? level > 1 : (mask >> i) & 1) collect_sources(n->input(i), wanted);
    ir::for_each_subgraph(*n, [&](const ir::Graph& sub) { collect(sub, level, wanted); });
  }
}

}  // namespace

std::vector<std::string> fold_inputs(ir::Graph& graph, const std::map<std::string, Tensor>& values,
                                     int level) {
  std::unordered_set<const ir::Value*> wanted;
  if (level > 0) collect(graph, level, wanted);
  if (level == 2) collect(graph, 1, wanted);
  std::vector<std::string> folded;
  const std::vector<ir::Value*> inputs = graph.inputs();
  for (ir::Value* v : inputs) {
    const auto it = values.find(v->name());
    if (it == values.end()) continue;
    const Tensor& t = it->second;
    if (t.dtype() != DType::string && level < 3 && !wanted.contains(v)) continue;
    if (v->dtype() != DType::undefined && v->dtype() != t.dtype())
      fail(ErrorCode::invalid_argument, "input '{}' is {}, its value is {}", v->name(),
           dtype_name(v->dtype()), dtype_name(t.dtype()));
    folded.push_back(v->name());
    const std::string name = v->name();
    ir::Value* c = graph.add_constant(name + ":value", t);
    for (size_t i = 0; i < graph.outputs().size(); i++)
      if (graph.outputs()[i] == v) graph.set_output(i, c);
    graph.replace_all_uses(v, c);
    graph.erase_value(v);
    graph.rename(c, name);
  }
  return folded;
}

}  // namespace poprt::compiler
