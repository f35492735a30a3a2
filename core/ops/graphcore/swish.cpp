// x sigmoid(x).
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) { e.out(0, e.add_node("Silu", "poprt", {e.in(0)}, {}, 1)->output()); }

}  // namespace
}  // namespace poprt::ops

POPRT_EXPANSION(graphcore_swish_op, "ai.graphcore", "Swish", expand)
