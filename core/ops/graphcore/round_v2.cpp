// Rounds ties to even.
#include "ops/common/elementwise.h"
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_round_v2_op {
namespace {

void expand(Expansion& e) { e.out(0, e.newest("Round", {e.in(0)})); }

}  // namespace
}  // namespace poprt::ops::graphcore_round_v2_op

POPRT_EXPANSION_WITH_FACTS(graphcore_round_v2_op, "ai.graphcore", "RoundV2", expand,
                           .per_element = true, .elementwise = step<ElementwiseOp::round>,
                           .monotone = Monotone::all)
