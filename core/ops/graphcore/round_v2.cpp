// Ties to even.
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) { e.out(0, e.newest("Round", {e.in(0)})); }

}  // namespace
}  // namespace poprt::ops

POPRT_EXPANSION(graphcore_round_v2_op, "ai.graphcore", "RoundV2", expand)
