// Outputs: the sorted values, and their places in the input as s32.
#include "ir/newest.h"
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_sort_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0);
  e.check(!x.empty(), "x must not be a scalar");
  const int64_t axis = normalize_axis(e.node.int_attr("axis", -1), static_cast<int64_t>(x.size()));
  ir::Node* n =
      e.add_node("TopK", ir::kNewestDomain, {e.in(0), e.ints({x[static_cast<size_t>(axis)]})},
                 {{"axis", axis}, {"largest", e.node.int_attr("descending", 0)}}, 2);
  e.out(0, n->output(0));
  e.out(1, e.cast(n->output(1), DType::s32));
}

}  // namespace
}  // namespace poprt::ops::graphcore_sort_op

POPRT_EXPANSION(graphcore_sort_op, "ai.graphcore", "Sort", expand)
