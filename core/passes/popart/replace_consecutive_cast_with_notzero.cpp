#include "passes/common/build.h"

namespace poprt::passes::replace_consecutive_cast_with_notzero_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Cast")) return;
    const Node* first = producer_if(n.input(0), "Cast");
    if (!first || n.input(0)->dtype() != DType::boolean ||
        first->input(0)->dtype() != n.output()->dtype() || !context.allow())
      return;
    replace_with_graphcore(n, "NotZero", std::vector<Value*>{first->input(0)});
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_consecutive_cast_with_notzero",
                     .summary = "replaces a Cast to bool and back by ai.graphcore.NotZero",
                     .condition = "the second Cast restores the type of the value",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::replace_consecutive_cast_with_notzero_pass
