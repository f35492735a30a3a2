// The angle of the point (input 1, input 0).
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_atan2_op {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Whether the sign bit of v is set; -0 has it too, and its reciprocal is -infinity.
ir::Value* has_sign(Expansion& e, ir::Value* v) {
  ir::Value* zero = e.number(v->dtype(), 0);
  return e.add("Or", {e.add("Less", {v, zero}), e.add("Less", {e.add("Reciprocal", {v}), zero})});
}

void expand(Expansion& e) {
  const DType type = e.dtype(0);
  ir::Value *y = e.in(0), *x = e.in(1);
  const auto number = [&](double v) { return e.number(type, v); };
  const auto where = [&](ir::Value* c, ir::Value* a, ir::Value* b) {
    return e.add("Where", {c, a, b});
  };
  // Two infinite coordinates have the angle of their signs.
  ir::Value* diagonal = e.add("And", {e.newest("IsInf", {x}), e.newest("IsInf", {y})});
  x = where(diagonal, e.newest("Sign", {x}), x);
  y = where(diagonal, e.newest("Sign", {y}), y);
  // If only x is 0, the quotient is infinite. If both are 0, it is y.
  ir::Value *x_zero = e.add("Equal", {x, number(0)}), *y_zero = e.add("Equal", {y, number(0)});
  ir::Value* divisor = where(x_zero, e.cast(y_zero, type), x);
  ir::Value* angle = e.add("Atan", {e.add("Div", {y, divisor})});
  ir::Value* upright = e.add("And", {x_zero, e.add("Not", {y_zero})});
  ir::Value* left = e.add("And", {has_sign(e, x), e.add("Not", {upright})});
  ir::Value* turn = where(has_sign(e, y), number(-kPi), number(kPi));
  e.out(0, where(left, e.add("Add", {angle, turn}), angle));
}

}  // namespace
}  // namespace poprt::ops::graphcore_atan2_op

POPRT_EXPANSION(graphcore_atan2_op, "ai.graphcore", "Atan2", expand)
