#include "passes/common/rewrite.h"

namespace poprt::passes::transpose_to_reshape_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Transpose") || !n.input(0)->type.is_static() || n.opset() < 5) return;
    const Shape& in = n.input(0)->shape();
    std::vector<int64_t> perm = n.ints_attr("perm");
    if (perm.empty())
      for (size_t i = in.size(); i-- > 0;) perm.push_back(static_cast<int64_t>(i));
    int64_t last = -1;
    for (const int64_t p : perm) {
      if (in[static_cast<size_t>(p)] == 0) return;
      if (in[static_cast<size_t>(p)] == 1) continue;
      if (p < last) return;
      last = p;
    }
    if (!context.allow()) return;
    Value* shape = add_ints(n.graph(), n.output()->name() + "_shape", n.output()->shape());
    replace_node(n, insert_node(n, "Reshape", "", {n.input(0), shape})->output());
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "transpose_to_reshape",
    .summary = "replaces Transpose that moves only dimensions of size 1 by Reshape, which is free",
    .condition = "all dimensions that move have size 1, except one run that keeps its order",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::transpose_to_reshape_pass
