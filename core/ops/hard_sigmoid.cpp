#include "ops/common/elementwise.h"

namespace poprt::ops::hard_sigmoid_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  return p.step(ElementwiseOp::hard_sigmoid, in[0], p.constant(n.float_attr("alpha", 0.2f)),
                p.constant(n.float_attr("beta", 0.5f)));
}

std::optional<Epilogue> epilogue(const ir::Node& n) {
  return Epilogue{Activation::hard_sigmoid, n.float_attr("alpha", 0.2f),
                  n.float_attr("beta", 0.5f)};
}

}  // namespace
}  // namespace poprt::ops::hard_sigmoid_op

POPRT_ELEMENTWISE_OP(hard_sigmoid, "HardSigmoid", 1, floating, .blocked = BlockedForm::unary,
                     .elementwise = {append}, .epilogue = epilogue, .monotone = Monotone::all)
