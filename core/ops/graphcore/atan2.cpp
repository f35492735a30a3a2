// The angle of the point (input 1, input 0).
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_atan2_op {
namespace {

void expand(Expansion& e) {
  const DType type = e.dtype(0);
  ir::Value *y = e.in(0), *x = e.in(1);
  const auto zero = [&] { return e.number(type, 0); };
  constexpr double kPi = 3.14159265358979323846;
  ir::Value* on_axis = e.add("Equal", {x, zero()});
  ir::Value* angle =
      e.add("Atan", {e.add("Div", {y, e.add("Where", {on_axis, e.number(type, 1), x})})});
  ir::Value* turn =
      e.add("Where", {e.add("Less", {y, zero()}), e.number(type, -kPi), e.number(type, kPi)});
  angle = e.add("Where", {e.add("Less", {x, zero()}), e.add("Add", {angle, turn}), angle});
  e.out(0, e.add("Where", {on_axis, e.scaled(e.newest("Sign", {y}), kPi / 2), angle}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_atan2_op

POPRT_EXPANSION(graphcore_atan2_op, "ai.graphcore", "Atan2", expand)
