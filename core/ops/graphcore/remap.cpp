// Affects only where or whether the chip keeps a tensor, so it returns its input.
#include "ops/common/elementwise.h"
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_remap_op {
namespace {

void expand(Expansion& e) { e.out(0, e.add("Identity", {e.in(0)})); }

}  // namespace
}  // namespace poprt::ops::graphcore_remap_op

POPRT_EXPANSION_WITH_FACTS(graphcore_remap_op, "ai.graphcore", "Remap", expand, .per_element = true,
                           .moves = true, .narrows = true,
                           .elementwise = {append_step<ElementwiseOp::copy>, 1, 1})
