// The remainder with the sign of the divisor.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_remainder_op {
namespace {

void expand(Expansion& e) { e.out(0, e.newest("Mod", {e.in(0), e.in(1)})); }

}  // namespace
}  // namespace poprt::ops::graphcore_remainder_op

POPRT_EXPANSION(graphcore_remainder_op, "ai.graphcore", "Remainder", expand)
