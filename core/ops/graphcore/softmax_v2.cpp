// Another implementation of Softmax on the chip; the result is the same.
#include "ops/common/expansion.h"
#include "ops/common/flops.h"

namespace poprt::ops::graphcore_softmax_v2_op {
namespace {

void expand(Expansion& e) {
  e.out(0, e.newest("Softmax", {e.in(0)}, {{"axis", e.node.int_attr("axis", -1)}}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_softmax_v2_op

POPRT_EXPANSION_WITH_FACTS(graphcore_softmax_v2_op, "ai.graphcore", "SoftmaxV2", expand,
                           .flops = flops::softmax)
