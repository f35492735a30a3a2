#include "passes/common/rewrite.h"

namespace poprt::passes::fuse_consecutive_transpose_pass {
namespace {

using ir::Graph;
using ir::Node;

std::vector<int64_t> perm_of(const Node& n, size_t rank) {
  std::vector<int64_t> perm = n.ints_attr("perm");
  if (perm.empty())
    for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  return perm;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Transpose")) return;
    Node* first = producer_if(n.input(0), "Transpose");
    if (!first || !n.output()->type.has_shape) return;
    const size_t rank = n.output()->shape().size();
    const std::vector<int64_t> a = perm_of(*first, rank), b = perm_of(n, rank);
    if (a.size() != rank || b.size() != rank || !context.allow()) return;
    std::vector<int64_t> perm;
    for (const int64_t i : b) perm.push_back(a[static_cast<size_t>(i)]);
    n.attributes["perm"] = perm;
    n.set_input(0, first->input(0));
    erase_if_dead(first);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "fuse_consecutive_transpose",
    .summary = "merges Transpose of a Transpose",
    .condition = "the rank is known; other readers of the intermediate value keep it",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::fuse_consecutive_transpose_pass
