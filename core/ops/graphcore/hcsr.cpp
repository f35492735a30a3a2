// Host concat, split and reshape. The host stacks inputs of one shape to [n, shape...]; the outputs
// are n tensors of that shape.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_hcsr_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0);
  const size_t n = e.node.outputs().size();
  e.check(!x.empty() && x[0] == static_cast<int64_t>(n),
          "the first dimension must be the number of outputs");
  const Shape each(x.begin() + 1, x.end());
  for (size_t i = 0; i < n; i++) {
    if (!e.wants(i)) continue;
    const auto at = static_cast<int64_t>(i);
    e.out(i, e.reshape(e.slice(e.in(0), 0, at, at + 1), each));
  }
}

}  // namespace
}  // namespace poprt::ops::graphcore_hcsr_op

POPRT_EXPANSION(graphcore_hcsr_op, "ai.graphcore", "HCSR", expand)
