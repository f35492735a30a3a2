#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The value that the node hands on unchanged, or null.
Value* unchanged(const Node& n) { return n.outputs().size() == 1 ? n.input(0) : nullptr; }

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Split")) return;
    Value* by = unchanged(n);
    if (by && can_bypass(n.output(), by) && context.allow()) bypass(n.output(), by);
  });
}

}  // namespace

extern const PassDef eliminate_nop_split_pass;
const PassDef eliminate_nop_split_pass = {
    .name = "eliminate_nop_split", .summary = "removes Split into one part", .run = run};

}  // namespace poprt::passes
