#include "ops/common/elementwise.h"

namespace poprt::ops::bit_shift_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  const std::string direction = n.string_attr("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    fail(ErrorCode::invalid_argument, "{}: direction is '{}', expected LEFT or RIGHT", n.describe(),
         direction);
  return p.step(direction == "LEFT" ? ElementwiseOp::shift_left : ElementwiseOp::shift_right, in[0],
                in[1]);
}

}  // namespace
}  // namespace poprt::ops::bit_shift_op

POPRT_ELEMENTWISE_OP(bit_shift, "BitShift", 11, integer, .elementwise = {append, 2, 2},
                     .trial = {"T[4,4]; T[4,4]", R"(direction = "LEFT")"})
