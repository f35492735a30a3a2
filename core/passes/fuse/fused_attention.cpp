// Merges the projections to q, k and v of an attention into one product. The name of the pass is
// PopRT's. The fusion of the attention itself is decided in attention_pattern.cpp.
#include "passes/common/build.h"
#include "passes/common/products.h"

namespace poprt::passes::fused_attention_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

bool merge(Node& weighted, PassContext& context) {
  const Node* softmax = sole_producer_of(weighted.input(0), "Softmax");
  const Node* scores = softmax ? find_scores_product(softmax->input(0)) : nullptr;
  if (!scores) return false;
  std::vector<Projection> parts;
  for (Value* v : {scores->input(0), scores->input(1), weighted.input(1)}) {
    const auto p = find_projection(v);
    if (!p || !p->last().output()->type.is_static()) return false;
    for (const Projection& other : parts)
      if (p->matmul == other.matmul) return false;
    parts.push_back(*p);
  }
  for (const Projection& p : parts)
    if (p.matmul->input(0) != parts[0].matmul->input(0) ||
        p.weight()->dtype() != parts[0].weight()->dtype() ||
        p.weight()->shape()[0] != parts[0].weight()->shape()[0] ||
        (p.bias == nullptr) != (parts[0].bias == nullptr))
      return false;
  if (!context.allow()) return false;
  merge_projections(parts);
  return true;
}

// A rewrite erases other nodes of the list, so the list is made again after each.
bool merge_one(Graph& g, PassContext& context) {
  for (Node* n : g.nodes())
    if (n->is("MatMul") && merge(*n, context)) return true;
  return false;
}

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    while (merge_one(g, context)) {
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "fused_attention",
    .summary =
        "computes the projections to q, k and v of an attention in one product and splits its "
        "result",
    .condition =
        "softmax(q k^T) v, where q, k and v are MatMul (and Add) of one input with constant "
        "weights, reordered and scaled by constants only",
    .numerics = Numerics::rounding,
    .run = run,
    .before = {"replace_softmax"}};

}  // namespace poprt::passes::fused_attention_pass
