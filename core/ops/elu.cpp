#include "ops/common/elementwise.h"

namespace poprt::ops::elu_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  return p.step(ElementwiseOp::elu, in[0], p.constant(n.float_attr("alpha", 1.0f)));
}

std::optional<Epilogue> epilogue(const ir::Node& n) {
  return Epilogue{Activation::elu, n.float_attr("alpha", 1.0f)};
}

}  // namespace
}  // namespace poprt::ops::elu_op

POPRT_ELEMENTWISE_OP(elu, "Elu", 1, floating, .blocked = BlockedForm::unary,
                     .elementwise = {append}, .epilogue = epilogue)
