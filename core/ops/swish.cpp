#include "ops/common/elementwise.h"

namespace poprt::ops::swish_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  return p.step(ElementwiseOp::silu, in[0], p.constant(n.float_attr("alpha", 1.0f)));
}

}  // namespace
}  // namespace poprt::ops::swish_op

POPRT_ELEMENTWISE_OP(swish, "Swish", 24, floating, .elementwise = {append})
