// x * sigmoid(x).
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_swish_op {
namespace {

void expand(Expansion& e) { e.out(0, e.add_node("Silu", "poprt", {e.in(0)}, {}, 1)->output()); }

}  // namespace
}  // namespace poprt::ops::graphcore_swish_op

POPRT_EXPANSION(graphcore_swish_op, "ai.graphcore", "Swish", expand)
