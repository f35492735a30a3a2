#include "ops/common/elementwise.h"

namespace poprt::ops::thresholded_relu_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  return p.step(ElementwiseOp::thresholded, in[0], p.constant(n.float_attr("alpha", 1.0f)));
}

}  // namespace
}  // namespace poprt::ops::thresholded_relu_op

POPRT_ELEMENTWISE_OP(thresholded_relu, "ThresholdedRelu", 1, floating, .elementwise = {append})
