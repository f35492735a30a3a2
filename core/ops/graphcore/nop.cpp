// Returns its input.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_nop_op {
namespace {

void expand(Expansion& e) { e.out(0, e.add("Identity", {e.in(0)})); }

}  // namespace
}  // namespace poprt::ops::graphcore_nop_op

POPRT_EXPANSION(graphcore_nop_op, "ai.graphcore", "Nop", expand)
