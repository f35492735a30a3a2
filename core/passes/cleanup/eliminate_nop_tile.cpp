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
    if (!n.is("Tile")) return;
    Value* by = unchanged(n);
    if (by && can_bypass(n.output(), by) && context.allow()) bypass(n.output(), by);
  });
}

}  // namespace

extern const PassDef eliminate_nop_tile_pass;
const PassDef eliminate_nop_tile_pass = {
    .name = "eliminate_nop_tile", .summary = "removes Tile by one", .run = run};

}  // namespace poprt::passes
