#include "ops/common/elementwise.h"

namespace poprt::ops::celu_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  return p.step(ElementwiseOp::celu, in[0], p.constant(n.float_attr("alpha", 1.0f)));
}

}  // namespace
}  // namespace poprt::ops::celu_op

POPRT_ELEMENTWISE_OP(celu, "Celu", 12, floating, .elementwise = {append})
