#include "ops/common/elementwise.h"

namespace poprt::ops::selu_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  const bool old = n.opset() < 6;
  return p.step(ElementwiseOp::selu, in[0],
                p.constant(n.float_attr("alpha", old ? 1.6732f : 1.67326319217681884765625f)),
                p.constant(n.float_attr("gamma", old ? 1.0507f : 1.05070102214813232421875f)));
}

}  // namespace
}  // namespace poprt::ops::selu_op

POPRT_ELEMENTWISE_OP(selu, "Selu", 1, floating, .blocked = BlockedForm::unary,
                     .elementwise = {append})
