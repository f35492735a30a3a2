// Another implementation of Softmax on the chip; the result is the same.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_softmax_v3_op {
namespace {

void expand(Expansion& e) {
  e.out(0, e.newest("Softmax", {e.in(0)}, {{"axis", e.node.int_attr("axis", -1)}}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_softmax_v3_op

POPRT_EXPANSION(graphcore_softmax_v3_op, "ai.graphcore", "SoftmaxV3", expand)
