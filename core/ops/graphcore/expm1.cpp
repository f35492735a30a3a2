// exp(x) - 1 is computed as tanh(x / 2) (exp(x) + 1) to avoid cancellation near 0.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_expm1_op {
namespace {

void expand(Expansion& e) {
  ir::Value* x = e.in(0);
  e.out(0, e.add("Mul", {e.add("Tanh", {e.scaled(x, 0.5)}), e.plus(e.add("Exp", {x}), 1)}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_expm1_op

POPRT_EXPANSION(graphcore_expm1_op, "ai.graphcore", "Expm1", expand)
