#include "passes/common/rewrite.h"

namespace poprt::passes::eliminate_unused_initializer_pass {
namespace {

using ir::Graph;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    for (Value* v : g.values())
      if (v->is_constant() && !is_used(v) && !g.is_input(v) && context.allow()) g.erase_value(v);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_unused_initializer",
                     .summary = "removes constants that are not used",
                     .condition = "the constant has no reader and is not an output",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_unused_initializer_pass
