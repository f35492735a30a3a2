#include "ops/common/elementwise.h"

namespace poprt::ops::swiglu_op {
namespace {

// Both inputs have the same shape; ONNX does not broadcast them.
void infer(InferContext& c) {
  infer_elementwise(c, ElementwiseTypes::floating, false);
  const ir::ValueType &gate = c.in(0), &value = c.in(1);
  if (gate.is_static() && value.is_static() && gate.shape != value.shape)
    c.fail_input("expected a gate and a value of one shape, found {} and {}",
                 shape_string(gate.shape), shape_string(value.shape));
}

// Y = A * Sigmoid(alpha * A) * B.
ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  const auto gate = p.step(ElementwiseOp::silu, in[0], p.constant(n.float_attr("alpha", 1.0f)));
  return p.step(ElementwiseOp::mul, gate, in[1]);
}

}  // namespace
}  // namespace poprt::ops::swiglu_op

POPRT_ELEMENTWISE_DEF(swiglu, .name = "SwiGLU", .since = 28, .infer = infer,
                      .lower = lower_elementwise, .axes = axes::elementwise,
                      .sharing = {.in_place = 3},
                      .facts = {.per_element = true, .elementwise = {append, 2, 2}})
