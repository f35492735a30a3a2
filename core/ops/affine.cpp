// alpha * x + beta. Affine was an experimental operator of early ONNX; opset 10 removed it.
#include "ops/common/axes.h"
#include "ops/common/elementwise.h"

namespace poprt::ops::affine_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  const ElementwiseValue product =
      p.step(ElementwiseOp::mul, in[0], p.constant(n.float_attr("alpha", 1)));
  return p.step(ElementwiseOp::add, product, p.constant(n.float_attr("beta", 0)));
}

}  // namespace
}  // namespace poprt::ops::affine_op

POPRT_ELEMENTWISE_DEF(
    affine, .name = "Affine", .until = 9,
    .infer = [](InferContext& c) { infer_elementwise(c, ElementwiseTypes::floating, false); },
    .lower = lower_elementwise, .axes = axes::elementwise, .sharing = {.in_place = 1},
    .facts = {.per_element = true,
              .blocked = BlockedForm::unary,
              .elementwise = {append},
              .trial = {"T[4,4]", "alpha = 2.0, beta = 1.0"}})
