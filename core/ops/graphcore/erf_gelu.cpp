// Gelu computed with erf.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_erf_gelu_op {
namespace {

void expand(Expansion& e) { e.out(0, e.add_node("Gelu", "poprt", {e.in(0)}, {}, 1)->output()); }

}  // namespace
}  // namespace poprt::ops::graphcore_erf_gelu_op

POPRT_EXPANSION(graphcore_erf_gelu_op, "ai.graphcore", "ErfGelu", expand)
