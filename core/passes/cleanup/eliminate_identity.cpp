#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The value that the node hands on unchanged, or null.
Value* unchanged(const Node& n) { return n.input(0); }

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Identity")) return;
    Value* by = unchanged(n);
    if (by && can_bypass(n.output(), by) && context.allow()) bypass(n.output(), by);
  });
}

}  // namespace

extern const PassDef eliminate_identity_pass;
const PassDef eliminate_identity_pass = {
    .name = "eliminate_identity", .summary = "removes Identity nodes", .run = run};

}  // namespace poprt::passes
