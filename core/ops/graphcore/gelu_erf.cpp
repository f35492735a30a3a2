// Gelu computed with erf.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_gelu_erf_op {
namespace {

void expand(Expansion& e) { e.out(0, e.add_node("Gelu", "poprt", {e.in(0)}, {}, 1)->output()); }

}  // namespace
}  // namespace poprt::ops::graphcore_gelu_erf_op

POPRT_EXPANSION(graphcore_gelu_erf_op, "ai.graphcore", "GeluErf", expand)
