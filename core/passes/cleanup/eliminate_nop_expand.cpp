#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The value that the node hands on unchanged, or null.
Value* unchanged(const Node& n) {
  return same_static_shape(n.input(0), n.output()) ? n.input(0) : nullptr;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Expand")) return;
    Value* by = unchanged(n);
    if (by && can_bypass(n.output(), by) && context.allow()) bypass(n.output(), by);
  });
}

}  // namespace

extern const PassDef eliminate_nop_expand_pass;
const PassDef eliminate_nop_expand_pass = {
    .name = "eliminate_nop_expand",
    .summary = "removes Expand to the shape that the value has",
    .run = run};

}  // namespace poprt::passes
