#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The value that the node hands on unchanged, or null.
Value* unchanged(const Node& n) {
  Value* x = n.input(0);
  return x->dtype() != DType::undefined && x->dtype() == n.output()->dtype() ? x : nullptr;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Cast")) return;
    Value* by = unchanged(n);
    if (by && can_bypass(n.output(), by) && context.allow()) bypass(n.output(), by);
  });
}

}  // namespace

extern const PassDef eliminate_nop_cast_pass;
const PassDef eliminate_nop_cast_pass = {.name = "eliminate_nop_cast",
                                         .summary = "removes Cast to the type that the value has",
                                         .run = run};

}  // namespace poprt::passes
