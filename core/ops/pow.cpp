#include "ops/common/axes.h"
#include "ops/common/elementwise.h"

namespace poprt::ops::pow_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node&,
                        std::span<const ElementwiseValue> in) {
  if (p.is_constant(in[1])) {
    const float e = p.constant_of(in[1]);
    if (e == 1.0f) return p.step(ElementwiseOp::copy, in[0]);
    if (e == 2.0f) return p.step(ElementwiseOp::square, in[0]);
    if (e == 3.0f) return p.step(ElementwiseOp::cube, in[0]);
    if (e == -1.0f) return p.step(ElementwiseOp::reciprocal, in[0]);
  }
  return p.step(ElementwiseOp::pow, in[0], in[1]);
}

}  // namespace
}  // namespace poprt::ops::pow_op

POPRT_ELEMENTWISE_DEF(
    pow, .name = "Pow", .since = 1,
    .infer = [](InferContext& c) { infer_elementwise(c, ElementwiseTypes::numeric, false, true); },
    .lower = lower_elementwise, .axes = axes::elementwise, .sharing = {.in_place = 1},
    .facts = {.per_element = true, .narrows = true, .elementwise = {append, 2, 2}})
