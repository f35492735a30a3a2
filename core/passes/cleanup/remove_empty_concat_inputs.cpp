#include "passes/common/rewrite.h"

namespace poprt::passes::remove_empty_concat_inputs_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The attribute is read because the axis map states nothing while the shapes of other inputs are
// unknown.
bool is_empty(const Value* v, const Node& concat) {
  if (!v->type.is_static()) return false;
  const int64_t rank = static_cast<int64_t>(v->shape().size());
  const int64_t axis = normalize_axis(concat.int_attr("axis", 1), rank);
  return v->shape()[static_cast<size_t>(axis)] == 0;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Concat") || n.inputs().size() < 2) return;
    std::vector<Value*> kept;
    for (Value* v : n.inputs())
      if (!is_empty(v, n)) kept.push_back(v);
    if (kept.empty()) kept.push_back(n.input(0));
    if (kept.size() < n.inputs().size() && context.allow()) n.set_inputs(kept);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "remove_empty_concat_inputs",
    .summary = "drops inputs without elements from Concat",
    .condition = "the input has 0 elements along the axis and another input is left",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::remove_empty_concat_inputs_pass
