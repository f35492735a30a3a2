#include <algorithm>

#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The value that the node hands on unchanged, or null.
Value* unchanged(const Node& n) {
  if (!same_static_shape(n.input(0), n.output())) return nullptr;
  // The same extent in forward steps is everything; a negative step reverses.
  const auto steps = const_ints(n.input(4));
  if (n.input(4) && !steps) return nullptr;
  if (steps && std::any_of(steps->begin(), steps->end(), [](int64_t s) { return s < 0; }))
    return nullptr;
  return n.input(0);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Slice")) return;
    Value* by = unchanged(n);
    if (by && can_bypass(n.output(), by) && context.allow()) bypass(n.output(), by);
  });
}

}  // namespace

extern const PassDef eliminate_nop_slice_pass;
const PassDef eliminate_nop_slice_pass = {.name = "eliminate_nop_slice",
                                          .summary = "removes Slice that takes everything in order",
                                          .run = run};

}  // namespace poprt::passes
