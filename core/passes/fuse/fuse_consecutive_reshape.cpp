#include <algorithm>

#include "passes/common/rewrite.h"

namespace poprt::passes::fuse_consecutive_reshape_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

bool is_view(const Node* n) {
  return n && (n->is("Reshape") || n->is("Flatten") || n->is("Squeeze") || n->is("Unsqueeze"));
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    Node* first = n.input(0) ? n.input(0)->producer() : nullptr;
    if (!is_view(&n) || !is_view(first) || !n.output()->type.is_static()) return;
    const Shape& shape = n.output()->shape();
    // 0 in a Reshape copies the dimension of the input, so empty results are not changed.
    if (std::find(shape.begin(), shape.end(), 0) != shape.end() || n.opset() < 5) return;
    if (!context.allow()) return;
    Value* target = add_ints(n.graph(), n.output()->name() + "_shape", shape);
    replace_node(n, insert_node(n, "Reshape", "", {first->input(0), target})->output());
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "fuse_consecutive_reshape",
                     .summary = "merges a chain of reshaping nodes into one Reshape",
                     .condition =
                         "the result has a static shape without empty dimensions; other readers of "
                         "the intermediate value keep it",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::fuse_consecutive_reshape_pass
