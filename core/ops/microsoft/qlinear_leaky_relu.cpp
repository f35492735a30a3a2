// Inputs: X, X_scale, X_zero_point?, Y_scale, Y_zero_point?
#include "ops/common/contrib_quantized.h"

namespace poprt::ops::microsoft_qlinear_leaky_relu_op {
namespace {

void expand(Expansion& e) {
  ir::Value* y =
      e.add("LeakyRelu", {dequantized(e, 0)}, {{"alpha", e.node.float_attr("alpha", 0.01f)}});
  set_quantized_result(e, y, 3, e.dtype(0));
}

}  // namespace
}  // namespace poprt::ops::microsoft_qlinear_leaky_relu_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qlinear_leaky_relu_op, "com.microsoft", "QLinearLeakyRelu",
                           expand, .f32_inputs = ~0u,
                           .trial = {"T[1,4,4,4]; f32[]; T[]; f32[]; T[]"})
