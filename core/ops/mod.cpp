#include "ops/common/elementwise.h"

namespace poprt::ops::mod_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  return p.step(n.int_attr("fmod", 0) ? ElementwiseOp::fmod : ElementwiseOp::mod, in[0], in[1]);
}

}  // namespace
}  // namespace poprt::ops::mod_op

POPRT_ELEMENTWISE_OP(mod, "Mod", 10, numeric, .narrows = true, .elementwise = {append, 2, 2},
                     .monotone = Monotone::remainder, .trial = {"T[4,4]; T[4,4]", "| fmod = 1"})
