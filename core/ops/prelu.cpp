#include "ir/match.h"
#include "ops/common/elementwise.h"

namespace poprt::ops::prelu_op {
namespace {

std::optional<Epilogue> epilogue(const ir::Node& n) {
  const auto slope = ir::const_scalar(n.input(1));
  if (!slope) return std::nullopt;
  return Epilogue{Activation::leaky_relu, static_cast<float>(*slope)};
}

}  // namespace
}  // namespace poprt::ops::prelu_op

POPRT_ELEMENTWISE_OP(prelu, "PRelu", 1, numeric, .weight_inputs = 0b10,
                     .elementwise = step<ElementwiseOp::prelu>, .epilogue = epilogue,
                     .trial = {"T[1,4,4,4]; T[4,1,1]"})
