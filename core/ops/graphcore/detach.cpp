// Detach stops gradients in training, so an inference returns the input.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_detach_op {
namespace {

void expand(Expansion& e) { e.out(0, e.add("Identity", {e.in(0)})); }

}  // namespace
}  // namespace poprt::ops::graphcore_detach_op

POPRT_EXPANSION(graphcore_detach_op, "ai.graphcore", "Detach", expand)
