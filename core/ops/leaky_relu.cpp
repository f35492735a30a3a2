#include "ops/common/elementwise.h"

namespace poprt::ops::leaky_relu_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  return p.step(ElementwiseOp::prelu, in[0], p.constant(n.float_attr("alpha", 0.01f)));
}

std::optional<Epilogue> epilogue(const ir::Node& n) {
  return Epilogue{Activation::leaky_relu, n.float_attr("alpha", 0.01f)};
}

}  // namespace
}  // namespace poprt::ops::leaky_relu_op

POPRT_ELEMENTWISE_OP(leaky_relu, "LeakyRelu", 1, floating, .blocked = BlockedForm::unary,
                     .elementwise = {append}, .epilogue = epilogue)
