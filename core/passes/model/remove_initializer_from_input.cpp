#include "passes/common/rewrite.h"

namespace poprt::passes::remove_initializer_from_input_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  const std::vector<Value*> inputs = graph.inputs();
  for (Value* v : inputs)
    if (v->is_constant() && context.allow()) graph.remove_input(v);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "remove_initializer_from_input",
    .summary = "removes constants from the list of inputs (the importer does this, too)",
    .condition = "an input of the graph has a value",
    .run = run};

}  // namespace poprt::passes::remove_initializer_from_input_pass
