// log(1 + x). Near 0 it is computed as 2 atanh(x / (2 + x)) to avoid cancellation.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_log1p_op {
namespace {

void expand(Expansion& e) {
  ir::Value* x = e.in(0);
  ir::Value* near = e.add("Less", {e.add("Abs", {x}), e.number(x->dtype(), 0.5)});
  ir::Value* kept = e.add("Where", {near, x, e.number(x->dtype(), 0)});
  ir::Value* small = e.scaled(e.newest("Atanh", {e.add("Div", {kept, e.plus(kept, 2)})}), 2);
  e.out(0, e.add("Where", {near, small, e.add("Log", {e.plus(x, 1)})}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_log1p_op

POPRT_EXPANSION(graphcore_log1p_op, "ai.graphcore", "Log1p", expand)
